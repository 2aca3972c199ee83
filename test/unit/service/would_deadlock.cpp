// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An owner that would wait for itself is told so, before anything is sent.
#include "unit/harness.hpp"
#include <colock/fair_lock.hpp>
#include <colock/multi_lock.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/spin_lock.hpp>

namespace colock::test {

namespace {

struct own : harness {
    own() { redis.attach(*server); }

    template <class Lock>
    pending<typename Lock::hold_type> take(Lock const& of, acquire_options options)
    {
        return of.acquire(options, settled());
    }

    /// Holds it, asks again, and gives it back.
    template <class Lock>
    void expect_refused(Lock const& of)
    {
        auto held = take(of, {.as = me});
        BOOST_TEST_REQUIRE(held.succeeded());
        auto const sent = server->written().size();
        auto again = take(of, {.as = me, .re_entrant = false});
        BOOST_TEST((again.ec() == error::would_deadlock));
        pending_try once;
        of.try_acquire({.as = me, .re_entrant = false}, once.token());
        auto limited = of.try_acquire_for(1s, {.as = me, .re_entrant = false}, settled());
        BOOST_TEST((once.ec() == error::would_deadlock));
        BOOST_TEST((limited.ec() == error::would_deadlock));
        BOOST_TEST(server->written().size() == sent);
        auto in = take(of, {.as = me});  // others of its calls may enter
        BOOST_TEST(in.succeeded());
        release(in.value());
        release(held.value());
        auto after = take(of, {.as = me, .re_entrant = false});
        BOOST_TEST(after.succeeded());
        release(after.value());
        time.advance(10ms);
    }

    script_server redis;
    owner const me;
    read_write_lock const sides{client, "rw"};
};

BOOST_FIXTURE_TEST_SUITE(service_would_deadlock, own)

BOOST_AUTO_TEST_CASE(an_owner_that_does_not_enter_again_is_refused_what_it_has)
{
    expect_refused(mutex());
    expect_refused(spin_lock{client, "s"});
    expect_refused(fair_lock{client, "f"});
    expect_refused(sides.read());
    expect_refused(sides.write());
}

// It waits, because nobody knows yet that its owner will get the lock.
BOOST_AUTO_TEST_CASE(one_that_waits_is_refused_when_its_owner_gets_in)
{
    auto const expect_one_in = [this](auto const& of, auto const& blocked_by) {
        auto blocker = take(blocked_by, {.as = owner{}});
        BOOST_TEST_REQUIRE(blocker.succeeded());
        auto first = take(of, {.as = me, .re_entrant = false});
        auto second = take(of, {.as = me, .re_entrant = false});
        auto third = take(of, {.as = me});
        BOOST_TEST((!first.is_done() && !second.is_done() && !third.is_done()));
        release(blocker.value());
        time.advance(20ms);
        BOOST_TEST_REQUIRE(first.succeeded());
        BOOST_TEST((second.ec() == error::would_deadlock));
        BOOST_TEST_REQUIRE(third.succeeded());
        release(third.value());
        release(first.value());
        time.advance(10ms);
    };
    expect_one_in(mutex(), mutex());
    expect_one_in(spin_lock{client, "s"}, spin_lock{client, "s"});
    expect_one_in(fair_lock{client, "f"}, fair_lock{client, "f"});
    expect_one_in(sides.read(), sides.write());
    expect_one_in(sides.write(), sides.write());
    BOOST_TEST(client.stats().waiters == 0U);
}

BOOST_AUTO_TEST_CASE(without_an_owner_nobody_is_known_to_wait_for_itself)
{
    auto held = take(mutex(), {.re_entrant = false});
    auto again = mutex().try_acquire_for(10ms, {.re_entrant = false}, settled());
    time.advance(20ms);
    BOOST_TEST(again.gave_nothing());
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_lost_is_no_reason)
{
    auto held = take(mutex(), {.lease = 200ms, .as = me});
    time.jump(300ms);  // and no timer has fired yet
    auto again = take(mutex(), {.as = me, .re_entrant = false});
    time.advance(10ms);
    BOOST_TEST(again.succeeded());
}

BOOST_AUTO_TEST_CASE(a_reader_does_not_wait_to_write)
{
    auto read = take(sides.read(), {.as = me});
    auto const sent = server->written().size();
    BOOST_TEST((take(sides.write(), {.as = me}).ec() == error::would_deadlock));
    auto limited = sides.write().try_acquire_for(1s, {.as = me}, settled());
    BOOST_TEST((limited.ec() == error::would_deadlock));
    BOOST_TEST(server->written().size() == sent);
    BOOST_TEST(client.stats().waiters == 0U);
    // A single try does not wait, and finds the lock taken.
    auto once = sides.write().try_acquire({.as = me}, settled());
    BOOST_TEST(once.gave_nothing());

    auto other = take(sides.write(), {.as = owner{}});
    BOOST_TEST(!other.is_done());
    release(read.value());
    time.advance(10ms);
    BOOST_TEST(other.succeeded());
}

BOOST_AUTO_TEST_CASE(a_writer_reads_and_writes_again)
{
    auto write = take(sides.write(), {.as = me});
    auto read = take(sides.read(), {.as = me});
    BOOST_TEST_REQUIRE(read.succeeded());
    auto again = take(sides.write(), {.as = me});
    BOOST_TEST_REQUIRE(again.succeeded());
    release(again.value());
    release(write.value());
    // Now it only reads.
    BOOST_TEST((take(sides.write(), {.as = me}).ec() == error::would_deadlock));
}

BOOST_AUTO_TEST_CASE(both_sides_at_once_are_no_deadlock)
{
    auto both = take(multi_lock{sides.read(), sides.write()}, {});
    time.advance(5s);
    BOOST_TEST(both.succeeded());
    release(both.value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
