// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What becomes of a request of either side: cancelled, unheard, late, refused.
#include "unit/service/read_write.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>
#include <vector>

namespace colock::test {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(read_write_asking)

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
    at.let_go(p, scripts::read_release);
    at.ends_clean();
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

// The grant is for nobody: the next writer stands behind a reader, and the grant keeps that one
// out.
BOOST_DATA_TEST_CASE(a_grant_for_nobody_is_given_back, data::make({true, false}), is_answered)
{
    rw at;
    auto& asked = at.server->expect(scripts::write_acquire);
    auto first = at.acquire(at.writing());
    auto reader = at.acquire(at.reading());
    auto second = at.acquire(at.writing(), {.lease = 1s});
    first.cancel();
    auto& reads = at.server->expect(scripts::read_acquire);
    at.time.settle();
    BOOST_TEST_REQUIRE(reads.has_come());
    auto& back = at.server->expect(scripts::write_release);
    if (is_answered)
        asked.reply(granted(3));
    else
        asked.lose();
    at.time.settle();
    BOOST_TEST_REQUIRE(back.has_come());
    BOOST_TEST(back.seen().field() == asked.seen().field());
    reads.reply(refused(3'000));
    auto& again = at.server->expect(scripts::read_acquire);
    back.reply(released());
    at.time.advance(2ms);
    BOOST_TEST_REQUIRE(again.has_come());
    second.cancel();
    again.reply(granted(0));
    at.time.settle();
    at.let_go(reader, scripts::read_release);
    at.ends_clean();
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
    auto p = at.waits_to_read(-1);
    p.cancel();
    at.time.advance(2ms);
    BOOST_TEST(p.aborted());
    at.time.advance(3s);  // and nothing is asked, or subscribed, any more
    BOOST_TEST((at.server->subscribed() == std::set{at.mailbox()}));
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
    at.ends_clean();
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

BOOST_AUTO_TEST_SUITE_END()

// How holds of either side end: lost, forced, closed, stopped, destroyed.

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(read_write_ends)

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
        return replied(each.size() == 1 ? each.front() : reply::of(each));
    };
    at.time.advance(1'600ms);
    BOOST_TEST(lost.succeeded());
    BOOST_TEST(!first);
    BOOST_TEST(bool{second});
    at.server->serve = [](call const&) { return replied(gone()); };
    at.release(first);
    at.release(second);
    at.ends_clean();
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
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(what_a_writer_reads_goes_with_the_writer)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.as = me});
    at.server->serve = [](call const& c) {
        bool const releases = c.what == &scripts::write_release || c.what == &scripts::read_release;
        return replied(releases ? gone() : not_there());
    };
    at.time.advance(1'100ms);
    BOOST_TEST(!write);
    BOOST_TEST(!read);
    at.release(write);
    at.release(read);
    at.ends_clean(5ms);
}

BOOST_AUTO_TEST_CASE(a_writer_that_is_gone_reads_nothing)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    at.server->serve = [](call const& c) {
        bool const releases = c.what == &scripts::write_release || c.what == &scripts::read_release;
        return replied(releases ? gone() : not_there());
    };
    auto const read = at.acquire(at.reading(), {.as = me});
    BOOST_TEST((read.ec() == error::lost));
    at.time.advance(5ms);
    BOOST_TEST(!write);
    at.release(write);
    at.ends_clean(5ms);
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
    BOOST_TEST_REQUIRE(forced.gave_something());
    BOOST_TEST(at.last().arguments.at(0) == (read ? "read" : "write"));
    BOOST_TEST(at.last().arguments.at(1) == "redisson_rwlock:{k}");
    BOOST_TEST(!held);
    at.release(held);
    at.ends_clean();
}

BOOST_AUTO_TEST_CASE(closing_releases_both_sides_and_ends_who_waits)
{
    rw at;
    owner const me;
    hold write = at.writes({.as = me});
    hold read = at.reads_again({.as = me});
    auto waits = at.acquire(at.reading());
    at.server->serve = [](call const& c) {
        BOOST_TEST((c.what == &scripts::write_release || c.what == &scripts::read_release));
        return replied(released());
    };
    auto closed = at.client.close(at.settled());
    at.time.advance(5ms);
    BOOST_TEST(closed.succeeded());
    BOOST_TEST((waits.ec() == error::closed));
    BOOST_TEST(!write);
    BOOST_TEST(!read);
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
    at.ends_clean(4s);
}

// Each handler count at which the context may go, with all that is pending.
BOOST_AUTO_TEST_CASE(the_context_may_go_at_any_time)
{
    for (std::size_t most = 0; most != 60; ++most) {
        pending_hold read, write, also, under;
        std::optional<rw> there{std::in_place};
        auto& at = *there;
        owner const me;
        at.server->serve = [n = 0](call const& c) mutable -> std::optional<answer> {
            if (++n % 3 == 0)
                return {};
            bool const takes =
                c.what == &scripts::read_acquire || c.what == &scripts::write_acquire;
            return replied(takes && n % 2 ? refused(500) : done());
        };
        at.reading().acquire(read.token());
        at.writing().acquire({.as = me}, write.token());
        at.reading().acquire({.as = me}, under.token());
        at.reading().acquire(also.token());
        for (std::size_t n = 0; n != most && at.time.step(); ++n) {}
        if (most % 2)
            at.time.advance(milliseconds{most * 10});
        for (auto* const each : {&read, &write, &also, &under})
            each->value() = hold{};  // no hold may outlive its context
        there.reset();
        for (auto const* const each : {&read, &write, &also, &under})
            BOOST_TEST(each->calls() <= 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
