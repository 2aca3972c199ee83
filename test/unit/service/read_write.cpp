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
    BOOST_TEST(at.last().arguments.at(2) == "redisson_rwlock:{k}");
    BOOST_TEST(at.last().arguments.at(4) == "{k}");
    at.let_go(second, scripts::read_release);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_takes_a_token_and_a_field_that_says_so)
{
    rw at;
    hold held = at.writes();
    BOOST_TEST(held.fencing_token() == 7U);
    BOOST_TEST(at.last().field().ends_with(":write"));
    BOOST_TEST(at.last().tokens == clock_tokens);
    BOOST_TEST(at.last().keys.size() == 2U);
    auto const field = at.last().field();
    at.let_go(held, scripts::write_release);
    BOOST_TEST(at.last().field() == field);
    BOOST_TEST(at.last().arguments.at(2) == "redisson_rwlock:{k}");
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(each_side_is_entered_again_by_its_owner)
{
    rw at;
    owner const me;
    hold outer = at.reads({.as = me});
    hold inner = at.reads_again({.as = me});
    BOOST_TEST(at.last().depth() == "2");
    BOOST_TEST(at.last().arguments.at(3) == "{k}");
    BOOST_TEST(at.count(at.reading(), me) == 2);
    BOOST_TEST(at.count(at.writing(), me) == 0);
    at.let_go(outer, scripts::read_extend);
    BOOST_TEST(at.last().depth() == "1");
    at.let_go(inner, scripts::read_release);

    hold first = at.writes({.as = me});
    hold second = at.writes_again({.as = me});
    BOOST_TEST(at.last().field().ends_with(":write"));
    BOOST_TEST(second.fencing_token() == 7U);
    BOOST_TEST(at.count(at.writing(), me) == 2);
    at.server->expect(scripts::extend).reply(done());
    BOOST_TEST(at.release(first).succeeded());
    at.let_go(second, scripts::write_release);
    BOOST_TEST(at.is_clean());
}

BOOST_AUTO_TEST_CASE(a_writer_reads_too_and_stays_as_a_reader)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    auto const field = at.last().field();
    hold read = at.reads_again({.as = me});
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
    BOOST_TEST(bool{read});
    at.let_go(read, scripts::read_release);
    at.let_go(other.value(), scripts::read_release);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(a_writer_who_reads_gives_the_lock_to_no_other_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.as = me});
    at.server->serve = [](call const& c) -> std::optional<answer> {
        if (c.what == &scripts::renew || c.what == &scripts::read_renew)
            return replied(done());
        if (c.what == &scripts::write_acquire)
            return replied(refused(2'000));
        BOOST_TEST((c.what == &scripts::write_release || c.what == &scripts::read_release));
        return replied(released(1));
    };
    auto next = at.acquire(at.writing());
    BOOST_TEST(at.release(write).succeeded());
    BOOST_TEST(at.server->count(scripts::write_release) == 1U);
    at.publish("1");  // its own message
    at.time.advance(5ms);
    BOOST_TEST(!next.is_done());
    auto const before = at.server->count(scripts::write_acquire);
    BOOST_TEST(before >= 2U);
    BOOST_TEST(at.release(read).succeeded());
    at.server->serve = nullptr;
    at.server->expect(scripts::write_acquire).reply(granted(200));
    at.publish("0");
    at.time.advance(50ms);
    at.let_go(next, scripts::write_release);
    at.ends_clean(200ms);
}

BOOST_AUTO_TEST_CASE(what_a_writer_renews_is_as_long_as_what_he_reads)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.lease = 60s, .as = me});
    at.server->expect(scripts::renew).reply(done());
    at.time.advance(1'100ms);
    auto const lease = std::stoll(at.last().arguments.at(1));
    BOOST_TEST(at.last().field().ends_with(":write"));
    BOOST_TEST(lease > 58'000);
    BOOST_TEST(lease <= 60'000);
    at.let_go(write, scripts::write_release);
    at.let_go(read, scripts::read_release);
    at.ends_clean();
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
        return replied(each.size() == 1 ? each.front() : reply::of(each));
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
    auto writer = at.waits_to_write(3'000);
    auto late = at.acquire(at.reading());
    auto later = at.acquire(at.reading());
    auto const none = at.try_acquire(at.reading());
    BOOST_TEST(none.gave_nothing());
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
    at.let_go(late, scripts::read_release);
    at.let_go(later, scripts::read_release);
    at.ends_clean(200ms);
}

BOOST_AUTO_TEST_CASE(readers_come_in_when_the_writer_before_them_leaves)
{
    rw at;
    hold early = at.reads();
    auto writer = at.waits_to_write(3'000);
    auto late = at.acquire(at.reading());
    BOOST_TEST(!late.is_done());
    at.server->expect(scripts::write_release).reply(gone());
    at.server->expect(scripts::read_acquire).reply(granted(0));
    writer.cancel();
    at.time.advance(2ms);
    BOOST_TEST(writer.aborted());
    BOOST_TEST_REQUIRE(late.succeeded());
    at.let_go(early, scripts::read_release);
    at.let_go(late.value(), scripts::read_release);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(a_writer_waits_behind_readers_that_came_first)
{
    rw at;
    auto first = at.waits_to_read(3'000);
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
    at.let_go(third, scripts::read_release);
    at.ends_clean(200ms);
}

BOOST_AUTO_TEST_CASE(while_somebody_writes_the_first_alone_asks)
{
    rw at;
    auto first = at.waits_to_read(-1);
    std::vector<pending_hold> others;
    for (int i = 0; i != 10; ++i)
        others.push_back(at.acquire(at.reading()));
    at.time.advance(500ms);
    auto const asked = at.server->count(scripts::read_acquire);
    BOOST_TEST(asked < 10U);
    at.server->expect(scripts::read_acquire).reply(refused(-1));
    at.time.advance(510ms);
    BOOST_TEST(at.server->count(scripts::read_acquire) == asked + 1);
    at.server->serve = [](call const&) { return replied(granted(0)); };
    at.time.advance(1'010ms);
    BOOST_TEST(first.succeeded());
    for (auto& other : others)
        BOOST_TEST(other.succeeded());
}

BOOST_AUTO_TEST_CASE(a_reader_that_asks_to_write_is_told_that_it_waits_for_itself)
{
    rw at;
    owner const me;
    hold read = at.reads({.as = me});
    auto write = at.acquire(at.writing(), {.as = me});
    BOOST_TEST((write.ec() == error::would_deadlock));
    // It may enter once more what it has: nobody waits for itself for that.
    hold again = at.reads_again({.as = me});
    at.let_go(again, scripts::read_extend);
    at.let_go(read, scripts::read_release);
    at.server->expect(scripts::write_acquire).reply(granted(5));
    auto later = at.acquire(at.writing(), {.as = me});
    at.let_go(later, scripts::write_release);
    at.ends_clean(200ms);
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
    at.server->serve = [](call const&) { return replied(done()); };
    at.time.settle();
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(waiting[0].succeeded());
    auto const before = at.server->count(scripts::write_acquire);
    at.server->serve = [](call const& c) {
        auto const tokens = std::stoll(c.arguments.at(2));
        return replied(granted(100 + tokens));
    };
    BOOST_TEST(at.release(waiting[0].value()).succeeded());
    BOOST_TEST_REQUIRE(waiting[1].succeeded());
    BOOST_TEST(at.release(waiting[1].value()).succeeded());
    BOOST_TEST_REQUIRE(waiting[2].succeeded());
    BOOST_TEST(at.events->count("handed_over") >= 1);
    BOOST_TEST(at.server->count(scripts::write_acquire) <= before + 1);
    BOOST_TEST(at.server->count(scripts::write_release) == 0U);
}

BOOST_AUTO_TEST_CASE(who_holds_which_side_is_read_from_the_hash)
{
    rw at;
    auto const is_locked = [&](auto const& side, reply const& hash) {
        at.server->expect(scripts::inspect).reply(hash);
        auto p = side.is_locked(at.settled());
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value();
    };
    auto const read = inspected(100, "read", 2);
    auto const written = inspected(100, "write", 2);
    auto const both = inspected(100, "write", 3);
    BOOST_TEST(is_locked(at.reading(), read));
    BOOST_TEST(!is_locked(at.writing(), read));
    BOOST_TEST(!is_locked(at.reading(), written));
    BOOST_TEST(is_locked(at.writing(), written));
    BOOST_TEST(is_locked(at.reading(), both));
    BOOST_TEST(is_locked(at.writing(), both));
    BOOST_TEST(!is_locked(at.reading(), inspected(-2, "", 0)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
