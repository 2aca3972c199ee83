// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The machine is suspended: leases go on at the server, the steady clock and the timers do not.
#include "holds/watchdog.hpp"
#include "unit/service/served_crowd.hpp"
#include <colock/multi_lock.hpp>

#include <chrono>

namespace colock::test {

namespace {

/// As the system does it: no timer has fired yet when the machine runs again.
void suspend(virtual_time& time, milliseconds how_long)
{
    time.jump(how_long);
    clock::fake_suspension(clock::suspended() + how_long, clock::now());
}

struct suspended : served_crowd {
    void suspend(milliseconds how_long) { test::suspend(time, how_long); }
    void tell() { inside().watchdog().on_resumed(); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(service_suspension, suspended)

BOOST_AUTO_TEST_CASE(a_hold_ends_by_the_time_that_the_machine_slept)
{
    fill(0);
    auto const& mine = got[0].value();
    suspend(validity);
    BOOST_TEST(!mine);
    BOOST_TEST(!mine.valid_for(0ms));
}

// The steady clock of the caller stood still.
BOOST_AUTO_TEST_CASE(valid_until_moves_back_by_each_suspension)
{
    fill(0);
    auto const& mine = got[0].value();
    auto const before = mine.valid_until();
    suspend(1s);
    BOOST_TEST((before - mine.valid_until() == 1s));
    BOOST_TEST(bool{mine});
    BOOST_TEST(mine.valid_for(500ms));
}

// A suspension from before it was acquired.
BOOST_AUTO_TEST_CASE(a_group_is_as_long_valid_as_its_parts)
{
    suspend(1h);
    tell();
    time.settle();
    auto held = take(multi_lock{mutex("a"), mutex("b")});
    BOOST_TEST_REQUIRE(held.succeeded());
    BOOST_TEST(bool{held.value()});
    BOOST_TEST(held.value().valid_for(validity - 1ms));
    auto const steady = clock::now() - clock::suspended();
    BOOST_TEST((held.value().valid_until() == steady + validity));
}

BOOST_AUTO_TEST_CASE(a_loss_is_told_when_the_machine_runs_again)
{
    fill(0);
    auto told = lost(got[0].value());
    suspend(validity);
    tell();
    time.settle();
    BOOST_TEST(told.succeeded());
    BOOST_TEST(events->count("lost") == 1);
}

BOOST_AUTO_TEST_CASE(what_is_left_is_confirmed_at_once)
{
    fill(0);
    auto const& mine = got[0].value();
    suspend(100ms);
    sent = server->written().size();
    tell();
    time.settle();
    BOOST_TEST(sent_since() == 1U);
    BOOST_TEST(server->count(scripts::renew) == 1U);
    BOOST_TEST(bool{mine});
    tell();  // somebody has set the wall clock
    time.settle();
    BOOST_TEST(server->count(scripts::renew) == 1U);
}

BOOST_AUTO_TEST_CASE(nobody_is_handed_what_was_proven_before)
{
    fill(3);
    release_of(0);  // fetches tokens for those behind
    sent = server->written().size();
    release_of(1);
    BOOST_TEST(sent_since() == 0U);
    suspend(1ms);
    release_of(2);
    BOOST_TEST(sent_since() != 0U);
    BOOST_TEST(got[3].succeeded());
}

BOOST_FIXTURE_TEST_CASE(a_grant_of_a_script_that_was_sent_before_is_asked_for_again, harness)
{
    auto& asked = server->expect(scripts::acquire);
    auto mine = acquire();
    BOOST_TEST_REQUIRE(asked.has_come());
    suspend(time, 1ms);
    server->expect(scripts::acquire).reply(granted(7));
    respond(asked, granted(6));
    BOOST_TEST_REQUIRE(mine.succeeded());
    BOOST_TEST(mine.value().fencing_token() == 7U);
}

BOOST_AUTO_TEST_CASE(a_deadline_of_the_steady_clock_is_later_by_the_suspension)
{
    suspend(1h);
    redis.occupy("k", 1min);
    pending_try p;
    auto const now = std::chrono::steady_clock::time_point{clock::now() - clock::suspended()};
    mutex().try_acquire_until(now + 500ms, p.token());
    time.settle();
    BOOST_TEST(!p.is_done());
    time.advance(500ms);
    BOOST_TEST(p.gave_nothing());
}

BOOST_AUTO_TEST_SUITE_END()

// The real clocks of this machine, which is not suspended during the test.
BOOST_AUTO_TEST_SUITE(base_clock)

BOOST_AUTO_TEST_CASE(without_a_suspension_it_is_the_steady_clock)
{
    auto const before = std::chrono::steady_clock::now();
    auto const between = clock::now();
    auto const after = std::chrono::steady_clock::now();
    BOOST_TEST((before - 1ms <= between && between <= after));
    BOOST_TEST((clock::suspended() == 0ms));
    BOOST_TEST((clock::resumed() == time_point::min()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
