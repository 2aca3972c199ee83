// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `lock` beside Redisson's RLock.
#include "interop/exclusive.hpp"
#include "interop/mixed_fleet.hpp"

namespace colock::test {

namespace {

using shared = shared_lock<lock>;

constexpr char const* plain_channel = "redisson_lock__channel";

}  // namespace

BOOST_AUTO_TEST_SUITE(plain_lock)

BOOST_AUTO_TEST_CASE(woken_by_a_release_of_redisson)
{
    java_lab at;
    shared s{at, "lock", plain_channel};
    at.run([&] { return java_holds_and_we_wait(at.context(), s); });
}

BOOST_AUTO_TEST_CASE(a_release_of_ours_wakes_redisson)
{
    java_lab at;
    shared s{at, "lock", plain_channel};
    at.run([&] { return we_hold_and_java_waits(s); });
}

BOOST_AUTO_TEST_CASE(watchdogs)
{
    java_lab at;
    shared s{at, "lock", plain_channel};
    at.run([&] { return both_watchdogs_keep_what_is_held(at.context(), s); });
}

BOOST_AUTO_TEST_CASE(depth)
{
    java_lab at;
    shared s{at, "lock", plain_channel};
    at.run([&] { return the_depth_is_seen(s); });
}

BOOST_AUTO_TEST_CASE(force)
{
    java_lab at;
    shared s{at, "lock", plain_channel};
    at.run([&] { return a_force_is_seen(at.context(), s); });
}

BOOST_AUTO_TEST_CASE(questions)
{
    java_lab at;
    shared s{at, "lock", plain_channel};
    at.run([&] { return questions_agree(s); });
}

BOOST_AUTO_TEST_CASE(names)
{
    java_lab at;
    at.run([&] { return names_are_shared<lock>(at, "lock"); });
}

// A process of Redisson's dies: its lock is free when its lease is over, and no sooner.
BOOST_AUTO_TEST_CASE(a_jvm_dies_that_holds_the_lock)
{
    java_lab at;
    auto& c = at.connect();
    java_peer doomed{at.server()};
    auto const name = unique_name("lock");
    at.run([&]() -> asio::awaitable<void> {
        co_await doomed.ask("t1", "lock", "lock", name, by_watchdog);
        doomed.kill();
        stopwatch const watch;
        auto const held = co_await lock{c.client, name}.try_acquire_for(5s);
        BOOST_TEST(held.has_value());
        BOOST_TEST(watch.ms() < java_peer::watchdog.count() + 500);
    });
}

BOOST_AUTO_TEST_CASE(mixed_fleet) { fleet_of("lock", {}); }

// Each section is a turn.
BOOST_AUTO_TEST_CASE(mixed_fleet_without_hand_over) { fleet_of("lock", {.max_tenure = 0ms}); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
