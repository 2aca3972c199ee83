// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/service/read_write.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(read_write)

BOOST_AUTO_TEST_CASE(a_reader_enters_with_a_field_of_its_own)
{
    rw at;
    hold first = at.reads();
    BOOST_TEST(at.last().key() == "k");
    BOOST_TEST(at.last().arguments.at(1) == "3000");
    BOOST_TEST(at.last().arguments.at(2) == "{k}");
    auto const field = at.last().field();
    hold second = at.reads({.lease = 500ms});
    BOOST_TEST(at.last().field() != field);
    BOOST_TEST(at.last().arguments.at(1) == "500");
    BOOST_TEST(first.fencing_token() == 0U);
    at.let_go(first, scripts::read_release);
    BOOST_TEST(at.last().field() == field);
    BOOST_TEST(at.last().arguments.at(1) == "redisson_rwlock:{k}");
    BOOST_TEST(at.last().arguments.at(2) == "{k}");
    at.let_go(second, scripts::read_release);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_takes_a_token_and_a_field_that_says_so)
{
    rw at;
    hold held = at.writes();
    BOOST_TEST(held.fencing_token() == 7U);
    BOOST_TEST(at.last().field().ends_with(":write"));
    BOOST_TEST(at.last().has_floor);
    BOOST_TEST(at.last().keys.size() == 2U);
    auto const field = at.last().field();
    at.let_go(held, scripts::write_release);
    BOOST_TEST(at.last().field() == field);
    BOOST_TEST(at.last().arguments.at(1) == "redisson_rwlock:{k}");
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(each_side_is_entered_again_by_its_owner)
{
    rw at;
    owner const me;
    hold outer = at.reads({.as = me});
    at.server->expect(scripts::read_extend).reply(done());
    auto inner = at.acquire(at.reading(), {.as = me});
    BOOST_TEST_REQUIRE(inner.succeeded());
    BOOST_TEST(at.last().depth() == "2");
    BOOST_TEST(at.last().arguments.at(3) == "{k}");
    BOOST_TEST(at.count(at.reading(), me) == 2);
    BOOST_TEST(at.count(at.writing(), me) == 0);
    at.let_go(outer, scripts::read_extend);
    BOOST_TEST(at.last().depth() == "1");
    at.let_go(inner.value(), scripts::read_release);

    hold first = at.writes({.as = me});
    at.server->expect(scripts::extend).reply(done());
    auto second = at.acquire(at.writing(), {.as = me});
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(at.last().field().ends_with(":write"));
    BOOST_TEST(second.value().fencing_token() == 7U);
    BOOST_TEST(at.count(at.writing(), me) == 2);
    at.server->expect(scripts::extend).reply(done());
    BOOST_TEST(at.release(first).succeeded());
    at.let_go(second.value(), scripts::write_release);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_reads_too_and_stays_as_a_reader)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    auto const field = at.last().field();
    at.server->expect(scripts::read_extend).reply(done());
    auto read = at.acquire(at.reading(), {.as = me});
    BOOST_TEST_REQUIRE(read.succeeded());
    BOOST_TEST(at.last().depth() == "1");
    BOOST_TEST(at.last().field() + ":write" == field);
    BOOST_TEST(at.count(at.reading(), me) == 1);

    // Somebody else here waits to read, and comes in when the writer steps down.
    auto other = at.acquire(at.reading());
    BOOST_TEST(!other.is_done());
    at.server->expect(scripts::write_release).reply(released(0));
    at.server->expect(scripts::read_acquire).reply(granted(0));
    BOOST_TEST(at.release(write).succeeded());
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(other.succeeded());
    BOOST_TEST(bool{read.value()});
    at.let_go(read.value(), scripts::read_release);
    at.let_go(other.value(), scripts::read_release);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_who_reads_gives_the_lock_to_no_other_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->expect(scripts::read_extend).reply(done());
    auto read = at.acquire(at.reading(), {.as = me});
    BOOST_TEST_REQUIRE(read.succeeded());
    at.server->serve = [](call const& c) -> std::optional<answer> {
        if (c.what == &scripts::renew || c.what == &scripts::read_renew)
            return answer{answer::kind::replied, done(), {}, {}};
        if (c.what == &scripts::write_acquire)
            return answer{answer::kind::replied, refused(2'000), {}, {}};
        BOOST_TEST((c.what == &scripts::write_release || c.what == &scripts::read_release));
        return answer{answer::kind::replied, released(1), {}, {}};
    };
    auto next = at.acquire(at.writing());
    BOOST_TEST(at.release(write).succeeded());
    BOOST_TEST(at.server->count(scripts::write_release) == 1U);
    at.publish("1");  // the echo of that
    at.time.advance(5ms);
    BOOST_TEST(!next.is_done());
    auto const before = at.server->count(scripts::write_acquire);
    BOOST_TEST(before >= 2U);
    BOOST_TEST(at.release(read.value()).succeeded());
    at.server->serve = nullptr;
    at.server->expect(scripts::write_acquire).reply(granted(200));
    at.publish("0");
    at.time.advance(50ms);
    BOOST_TEST_REQUIRE(next.succeeded());
    at.let_go(next.value(), scripts::write_release);
    at.time.advance(200ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(what_a_writer_renews_is_as_long_as_what_he_reads)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->expect(scripts::read_extend).reply(done());
    auto read = at.acquire(at.reading(), {.lease = 60s, .as = me});
    BOOST_TEST_REQUIRE(read.succeeded());
    at.server->expect(scripts::renew).reply(done());
    at.time.advance(1'100ms);
    auto const lease = std::stoll(at.last().arguments.at(1));
    BOOST_TEST(at.last().field().ends_with(":write"));
    BOOST_TEST(lease > 58'000);
    BOOST_TEST(lease <= 60'000);
    at.let_go(write, scripts::write_release);
    at.let_go(read.value(), scripts::read_release);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(renewals_of_readers_and_of_others_are_separate_calls)
{
    rw at;
    hold first = at.reads();
    hold second = at.reads();
    hold plain = at.held();
    at.server->serve = [](call const& c) {
        BOOST_TEST((c.what == &scripts::renew || c.what == &scripts::read_renew));
        if (c.what == &scripts::read_renew) {
            BOOST_TEST(c.arguments.size() == 3 * c.keys.size());
            for (std::size_t i = 0; i != c.keys.size(); ++i) {
                BOOST_TEST(c.arguments.at(3 * i + 1) == "3000");
                BOOST_TEST(c.arguments.at(3 * i + 2) == "{k}");
            }
        } else
            BOOST_TEST(c.arguments.size() == 2U);
        std::vector<reply> const each(c.keys.size(), done());
        return answer{
            answer::kind::replied, each.size() == 1 ? each.front() : reply::of(each), {}, {}};
    };
    at.time.advance(5s);
    BOOST_TEST(bool{first});
    BOOST_TEST(bool{second});
    BOOST_TEST(bool{plain});
    BOOST_TEST(at.server->count(scripts::read_renew) >= 4U);
    at.server->serve = nullptr;
    at.let_go(first, scripts::read_release);
    at.let_go(second, scripts::read_release);
    at.let_go(plain, scripts::release);
}

BOOST_AUTO_TEST_CASE(new_readers_wait_behind_a_writer_that_waits)
{
    rw at;
    hold early = at.reads();
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    auto writer = at.acquire(at.writing());
    at.time.advance(2ms);
    BOOST_TEST(!writer.is_done());
    auto late = at.acquire(at.reading());
    auto later = at.acquire(at.reading());
    auto const none = at.try_acquire(at.reading());
    BOOST_TEST(none.succeeded());
    BOOST_TEST(!none.value().has_value());
    BOOST_TEST(!late.is_done());

    at.let_go(early, scripts::read_release);
    at.server->expect(scripts::write_acquire).reply(granted(8));
    at.publish("0");
    at.time.advance(50ms);
    BOOST_TEST_REQUIRE(writer.succeeded());
    BOOST_TEST(!late.is_done());

    at.server->expect(scripts::write_release).reply(released(1));
    at.server->expect(scripts::read_acquire).reply(granted(0));
    at.server->expect(scripts::read_acquire).reply(granted(0));
    BOOST_TEST(at.release(writer.value()).succeeded());
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(late.succeeded());
    BOOST_TEST_REQUIRE(later.succeeded());
    at.let_go(late.value(), scripts::read_release);
    at.let_go(later.value(), scripts::read_release);
    at.time.advance(200ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(readers_come_in_when_the_writer_before_them_leaves)
{
    rw at;
    hold early = at.reads();
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    auto writer = at.acquire(at.writing());
    at.time.advance(2ms);
    auto late = at.acquire(at.reading());
    BOOST_TEST(!late.is_done());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    writer.cancel();
    at.time.advance(2ms);
    BOOST_TEST(writer.aborted());
    BOOST_TEST_REQUIRE(late.succeeded());
    at.let_go(early, scripts::read_release);
    at.let_go(late.value(), scripts::read_release);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_waits_behind_readers_that_came_first)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(3'000));
    at.server->expect(scripts::read_acquire).reply(refused(3'000));
    auto first = at.acquire(at.reading());
    at.time.advance(2ms);
    auto second = at.acquire(at.reading());
    auto writer = at.acquire(at.writing());
    auto third = at.acquire(at.reading());
    at.time.advance(2ms);
    BOOST_TEST(at.server->unsent() == 0U);

    // The lock opens: those in front of the writer ask at once, and then he does.
    auto& one = at.server->expect(scripts::read_acquire);
    auto& two = at.server->expect(scripts::read_acquire);
    at.publish("1");
    at.time.advance(1ms);
    BOOST_TEST(one.has_come());
    BOOST_TEST(two.has_come());
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    one.reply(granted(0));
    two.reply(granted(0));
    at.time.advance(5ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST(!writer.is_done());
    BOOST_TEST(!third.is_done());
    at.let_go(first.value(), scripts::read_release);
    at.let_go(second.value(), scripts::read_release);
    at.server->expect(scripts::write_acquire).reply(granted(9));
    at.publish("0");
    at.time.advance(50ms);
    BOOST_TEST_REQUIRE(writer.succeeded());
    at.server->expect(scripts::write_release).reply(released(0));
    at.server->expect(scripts::read_acquire).reply(granted(0));
    BOOST_TEST(at.release(writer.value()).succeeded());
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(third.succeeded());
    at.let_go(third.value(), scripts::read_release);
    at.time.advance(200ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(while_somebody_writes_the_first_alone_asks)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    auto first = at.acquire(at.reading());
    at.time.advance(2ms);
    BOOST_TEST(at.server->all_came());
    std::vector<pending_hold> others;
    for (int i = 0; i != 10; ++i)
        others.push_back(at.acquire(at.reading()));
    at.time.advance(500ms);
    BOOST_TEST(at.server->count(scripts::read_acquire) == 2U);
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    at.time.advance(510ms);
    BOOST_TEST(at.server->count(scripts::read_acquire) == 3U);
    at.server->serve = [](call const&) {
        return answer{answer::kind::replied, granted(0), {}, {}};
    };
    at.time.advance(1'010ms);
    BOOST_TEST(first.succeeded());
    for (auto& other : others)
        BOOST_TEST(other.succeeded());
}

BOOST_AUTO_TEST_CASE(a_message_that_overtakes_the_refusal_counts)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    auto& again = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(again.has_come());
    at.publish("1");
    at.server->expect(scripts::read_acquire).reply(granted(0));
    again.reply(refused(-1));
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(p.succeeded());
    at.let_go(p.value(), scripts::read_release);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_unsent_leaves_nothing)
{
    rw at;
    at.server->all_down();
    at.time.settle();
    auto p = at.acquire(at.reading());
    BOOST_TEST(at.server->unsent() == 1U);
    p.cancel();
    at.time.advance(2ms);
    BOOST_TEST(p.aborted());
    BOOST_TEST(at.server->unsent() == 0U);
    BOOST_TEST(at.is_clean());
}

BOOST_DATA_TEST_CASE(who_is_cancelled_while_asking_gives_back, data::make({true, false}), read)
{
    rw at;
    auto& asked = at.server->expect(read ? scripts::read_acquire : scripts::write_acquire);
    auto p = read ? at.acquire(at.reading()) : at.acquire(at.writing());
    BOOST_TEST_REQUIRE(asked.has_come());
    p.cancel();
    at.time.settle();
    BOOST_TEST(p.aborted());
    at.server->expect(read ? scripts::read_release : scripts::write_release).reply(released());
    asked.reply(granted(3));
    at.time.advance(2ms);
    BOOST_TEST(at.last().field() == asked.seen().field());
    BOOST_TEST(at.is_clean());
}

BOOST_DATA_TEST_CASE(a_lost_answer_is_asked_again, data::make({true, false}), read)
{
    rw at;
    auto const& script = read ? scripts::read_acquire : scripts::write_acquire;
    auto& asked = at.server->expect(script);
    auto p = read ? at.acquire(at.reading()) : at.acquire(at.writing());
    auto& again = at.server->expect(script);
    asked.lose();
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(again.has_come());
    BOOST_TEST(again.seen().field() == asked.seen().field());
    again.reply(granted(3));
    at.time.settle();
    BOOST_TEST_REQUIRE(p.succeeded());
    auto& back = at.server->expect(read ? scripts::read_release : scripts::write_release);
    auto gone_for_good = at.release(p.value());
    at.server->expect(read ? scripts::read_release : scripts::write_release).reply(gone());
    back.lose();
    at.time.advance(50ms);
    BOOST_TEST(gone_for_good.succeeded());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_leaves_after_a_lost_answer_gives_back)
{
    rw at;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    p.cancel();
    at.time.settle();
    at.server->expect(scripts::read_release).reply(gone());
    asked.lose();
    at.time.advance(2ms);
    BOOST_TEST(at.last().field() == asked.seen().field());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_asleep_leaves_nothing)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    auto p = at.acquire(at.reading());
    at.time.advance(2ms);
    p.cancel();
    at.time.advance(2ms);
    BOOST_TEST(p.aborted());
    at.time.advance(3s);  // and nothing is asked, or subscribed, any more
    BOOST_TEST(at.server->subscribed().empty());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_late_grant_is_renewed_before_it_is_given)
{
    rw at;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(1'600ms);
    at.server->expect(scripts::read_acquire).reply(granted(0));
    asked.reply(granted(0));
    at.time.settle();
    BOOST_TEST_REQUIRE(p.succeeded());
    BOOST_TEST(at.last().field() == asked.seen().field());
    at.let_go(p.value(), scripts::read_release);
}

BOOST_AUTO_TEST_CASE(an_error_is_for_the_reader_that_asked)
{
    rw at;
    at.server->expect(scripts::read_acquire).fail(error::wrong_type);
    auto const p = at.acquire(at.reading());
    BOOST_TEST((p.ec() == error::wrong_type));
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(the_loss_of_one_reader_is_his_alone)
{
    rw at;
    hold first = at.reads();
    auto const field = at.last().field();
    hold second = at.reads();
    auto const lost = at.lost(first);
    at.server->serve = [&](call const& c) {
        std::vector<reply> each;
        for (std::size_t i = 0; i != c.keys.size(); ++i)
            each.push_back(c.arguments.at(3 * i) == field ? not_there() : done());
        return answer{
            answer::kind::replied, each.size() == 1 ? each.front() : reply::of(each), {}, {}};
    };
    at.time.advance(1'600ms);
    BOOST_TEST(lost.succeeded());
    BOOST_TEST(!first);
    BOOST_TEST(bool{second});
    at.server->serve = [](call const&) { return answer{answer::kind::replied, gone(), {}, {}}; };
    at.release(first);
    at.release(second);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_reader_of_its_own_lease_ends_alone)
{
    rw at;
    hold brief = at.reads({.lease = 500ms});
    hold other = at.reads();
    at.time.advance(460ms);
    BOOST_TEST(!brief);
    BOOST_TEST(bool{other});
    at.let_go(other, scripts::read_release);
    at.server->expect(scripts::read_release).reply(gone());
    at.release(brief);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(what_a_writer_reads_goes_with_the_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->expect(scripts::read_extend).reply(done());
    auto read = at.acquire(at.reading(), {.as = me});
    at.server->serve = [](call const& c) {
        bool const releases = c.what == &scripts::write_release || c.what == &scripts::read_release;
        return answer{answer::kind::replied, releases ? gone() : not_there(), {}, {}};
    };
    at.time.advance(1'100ms);
    BOOST_TEST(!write);
    BOOST_TEST(!read.value());
    at.release(write);
    at.release(read.value());
    at.time.advance(5ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_that_is_gone_reads_nothing)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->serve = [](call const& c) {
        bool const releases = c.what == &scripts::write_release || c.what == &scripts::read_release;
        return answer{answer::kind::replied, releases ? gone() : not_there(), {}, {}};
    };
    auto const read = at.acquire(at.reading(), {.as = me});
    BOOST_TEST((read.ec() == error::lost));
    at.time.advance(5ms);
    BOOST_TEST(!write);
    at.release(write);
    at.time.advance(5ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_reader_that_asks_to_write_is_told_that_it_waits_for_itself)
{
    rw at;
    owner const me;
    hold read = at.reads({.as = me});
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    at.server->expect(scripts::write_acquire).reply(refused(3'000));
    auto write = at.acquire(at.writing(), {.as = me});
    at.time.advance(2ms);
    BOOST_TEST(!write.is_done());
    BOOST_TEST_REQUIRE(at.log.size() == 1U);
    BOOST_TEST(at.log.front().find("waits for itself") != std::string::npos);
    // It may enter once more what it has: nobody waits for himself for that.
    at.server->expect(scripts::read_extend).reply(done());
    auto again = at.acquire(at.reading(), {.as = me});
    BOOST_TEST_REQUIRE(again.succeeded());
    at.let_go(again.value(), scripts::read_extend);
    at.let_go(read, scripts::read_release);
    at.server->expect(scripts::write_acquire).reply(granted(5));
    at.publish("0");
    at.time.advance(50ms);
    BOOST_TEST_REQUIRE(write.succeeded());
    BOOST_TEST(number_of(at.last().field()) != "");
    at.let_go(write.value(), scripts::write_release);
    at.time.advance(200ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(one_owner_asks_once_to_read)
{
    rw at;
    owner const me;
    auto& asked = at.server->expect(scripts::read_acquire);
    auto first = at.acquire(at.reading(), {.as = me});
    auto second = at.acquire(at.reading(), {.as = me});
    auto third = at.try_acquire(at.reading(), {.as = me});
    for (int i = 0; i != 2; ++i)
        at.server->expect(scripts::read_extend).reply(done());
    asked.reply(granted(0));
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(first.succeeded());
    BOOST_TEST_REQUIRE(second.succeeded());
    BOOST_TEST_REQUIRE(third.succeeded());
    BOOST_TEST_REQUIRE(third.value().has_value());
    BOOST_TEST(at.count(at.reading(), me) == 3);
}

BOOST_AUTO_TEST_CASE(writers_of_one_client_hand_over_without_a_command)
{
    rw at;
    at.server->expect(scripts::write_acquire).reply(granted(1));
    std::vector<pending_hold> waiting;
    for (int i = 0; i != 3; ++i) {
        pending_hold p;
        at.writing().acquire(p.token());
        waiting.push_back(p);
    }
    at.server->serve = [](call const&) { return answer{answer::kind::replied, done(), {}, {}}; };
    at.time.settle();
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(waiting[0].succeeded());
    auto const before = at.server->count(scripts::write_acquire);
    at.server->serve = [](call const& c) {
        auto const tokens = std::stoll(c.arguments.at(2));
        return answer{answer::kind::replied, granted(100 + tokens), {}, {}};
    };
    BOOST_TEST(at.release(waiting[0].value()).succeeded());
    BOOST_TEST_REQUIRE(waiting[1].succeeded());
    BOOST_TEST(at.release(waiting[1].value()).succeeded());
    BOOST_TEST_REQUIRE(waiting[2].succeeded());
    BOOST_TEST(at.events->count("handed_over") >= 1);
    BOOST_TEST(at.server->count(scripts::write_acquire) <= before + 1);
    BOOST_TEST(at.server->count(scripts::write_release) == 0U);
}

BOOST_DATA_TEST_CASE(a_side_that_is_forced_is_lost_at_once, data::make({true, false}), read)
{
    rw at;
    owner const me;
    hold held = read ? at.reads() : at.writes();
    at.server->expect(scripts::read_write_force).reply(done());
    pending<bool> forced;
    if (read)
        at.reading().force_release(forced.token());
    else
        at.writing().force_release(forced.token());
    at.time.settle();
    BOOST_TEST_REQUIRE(forced.succeeded());
    BOOST_TEST(forced.value());
    BOOST_TEST(at.last().arguments.at(0) == (read ? "read" : "write"));
    BOOST_TEST(at.last().arguments.at(1) == "redisson_rwlock:{k}");
    BOOST_TEST(!held);
    at.release(held);
    at.time.advance(2ms);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(who_holds_which_side_is_read_from_the_hash)
{
    rw at;
    auto const inspected = [&](auto const& side, std::vector<std::string> const& fields) {
        std::vector<reply> items{reply::of(std::int64_t{100})};
        for (auto const& text : fields)
            items.push_back(reply::of(std::string_view{text}));
        at.server->expect(scripts::inspect).reply(reply::of(std::move(items)));
        pending<bool> p;
        side.is_locked(p.token());
        at.time.settle();
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value();
    };
    std::vector<std::string> const read{"mode", "read", "u:1", "1"};
    std::vector<std::string> const written{"mode", "write", "u:1:write", "1"};
    std::vector<std::string> const both{"mode", "write", "u:1:write", "1", "u:1", "1"};
    BOOST_TEST(inspected(at.reading(), read));
    BOOST_TEST(!inspected(at.writing(), read));
    BOOST_TEST(!inspected(at.reading(), written));
    BOOST_TEST(inspected(at.writing(), written));
    BOOST_TEST(inspected(at.reading(), both));
    BOOST_TEST(inspected(at.writing(), both));
    BOOST_TEST(!inspected(at.reading(), {}));
}

BOOST_AUTO_TEST_CASE(closing_releases_both_sides_and_ends_who_waits)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->expect(scripts::read_extend).reply(done());
    auto read = at.acquire(at.reading(), {.as = me});
    auto waits = at.acquire(at.reading());
    at.server->serve = [](call const& c) {
        BOOST_TEST((c.what == &scripts::write_release || c.what == &scripts::read_release));
        return answer{answer::kind::replied, released(), {}, {}};
    };
    pending<> closed;
    at.client.close(closed.token());
    at.time.advance(5ms);
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST(!write);
    BOOST_TEST(!read.value());
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(stopping_ends_who_asks_and_who_waits)
{
    rw at;
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    auto& asked = at.server->expect(scripts::read_acquire);
    auto p = at.acquire(at.reading());
    at.time.advance(2ms);
    auto waits = at.acquire(at.reading());
    auto writer = at.acquire(at.writing());
    BOOST_TEST_REQUIRE(asked.has_come());
    at.client.stop();
    at.time.advance(5ms);
    BOOST_TEST((p.ec() == error::closed));
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST((writer.ec() == error::closed));
    at.time.advance(4s);
    BOOST_TEST(at.is_clean());
}

// Each handler count at which the context may go, with all that is pending.
BOOST_AUTO_TEST_CASE(the_context_may_go_at_any_time)
{
    for (std::size_t most = 0; most != 60; ++most) {
        rw at;
        owner const me;
        at.server->serve = [n = 0](call const& c) mutable -> std::optional<answer> {
            if (++n % 3 == 0)
                return {};
            bool const takes =
                c.what == &scripts::read_acquire || c.what == &scripts::write_acquire;
            return answer{answer::kind::replied, takes && n % 2 ? refused(500) : done(), {}, {}};
        };
        pending_hold read, write, also, under;
        at.reading().acquire(read.token());
        at.writing().acquire({.as = me}, write.token());
        at.reading().acquire({.as = me}, under.token());
        at.reading().acquire(also.token());
        for (std::size_t n = 0; n != most && at.time.step(); ++n) {}
        if (most % 2)
            at.time.advance(milliseconds{most * 10});
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
