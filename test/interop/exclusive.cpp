// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `lock` beside Redisson's RLock.
#include "interop/exclusive.hpp"
#include "interop/mixed_fleet.hpp"

#include <memory>

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
    auto& c = at.connect(brief(at.settings()));
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

namespace {

// `fenced_lock` beside Redisson's RFencedLock, and `spin_lock` beside its RSpinLock.

using shared_fenced = shared_lock<fenced_lock>;
using shared_spin = shared_lock<spin_lock>;

constexpr char const* fenced_channel = "redisson_lock__channel";

}  // namespace

BOOST_AUTO_TEST_SUITE(fenced_lock_beside_redisson)

BOOST_AUTO_TEST_CASE(woken_by_a_release_of_redisson)
{
    java_lab at;
    shared_fenced s{at, "fenced", fenced_channel};
    at.run([&] { return java_holds_and_we_wait(at.context(), s); });
}

BOOST_AUTO_TEST_CASE(a_release_of_ours_wakes_redisson)
{
    java_lab at;
    shared_fenced s{at, "fenced", fenced_channel};
    at.run([&] { return we_hold_and_java_waits(s); });
}

BOOST_AUTO_TEST_CASE(watchdogs_depth_force_questions)
{
    java_lab at;
    shared_fenced s{at, "fenced", fenced_channel};
    at.run([&]() -> asio::awaitable<void> {
        co_await both_watchdogs_keep_what_is_held(at.context(), s);
        co_await the_depth_is_seen(s);
        co_await a_force_is_seen(at.context(), s);
        co_await questions_agree(s);
    });
}

BOOST_AUTO_TEST_CASE(one_counter)
{
    java_lab at;
    shared_fenced s{at, "fenced", fenced_channel};
    at.run([&]() -> asio::awaitable<void> {
        for (std::uint64_t expected = 1; expected != 11; expected += 2) {
            auto const theirs = co_await s.ask("t1", "lockAndGetToken");
            BOOST_TEST(theirs == std::to_string(expected));
            co_await s.ask("t1", "unlock");
            hold held = co_await s.mine.acquire();
            BOOST_TEST(held.fencing_token() == expected + 1);
            auto const seen = co_await s.ask("t1", "getToken");
            BOOST_TEST(seen == std::to_string(expected + 1));
            BOOST_TEST(co_await s.mine.token() == expected + 1);
            co_await held.release();
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(spin_lock_beside_redisson)

BOOST_AUTO_TEST_CASE(watchdogs_depth_force_questions)
{
    java_lab at;
    shared_spin s{at, "spin", fenced_channel};
    at.run([&]() -> asio::awaitable<void> {
        co_await both_watchdogs_keep_what_is_held(at.context(), s);
        co_await the_depth_is_seen(s);
        co_await a_force_is_seen(at.context(), s);
        co_await questions_agree(s);
    });
}

// Who waits looks at the latest after the longest pause, 128 ms on both sides.
BOOST_AUTO_TEST_CASE(each_finds_what_the_other_has_released)
{
    java_lab at;
    shared_spin s{at, "spin", fenced_channel};
    at.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i != rounds; ++i) {
            co_await s.ask("t1", "lock", by_watchdog);
            hold ours;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> { ours = co_await s.mine.acquire(); });
            co_await eventually([&] { return s.c.client.stats().waiters == 1; });
            co_await s.ask("t1", "unlock");
            co_await all.join(500ms);
            auto const entering = s.java.begin("t1", "lock", s.kind, s.name, by_watchdog);
            co_await ours.release();
            auto const entered = co_await entering.wait();
            BOOST_TEST(!entered.failed, entered.text);
            co_await s.ask("t1", "unlock");
        }
        BOOST_TEST(s.c.client.stats().subscriptions == 0U);
    });
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// `fair_lock` beside Redisson's RFairLock.

using shared_fair = shared_lock<fair_lock>;

constexpr char const* queue_prefix = "redisson_lock_queue";

bool is_gone(shared_fair& s)
{
    auto const keys = s.server.ask("KEYS", "*{" + s.name + "}*");
    return keys.items.empty() && s.server.ask("EXISTS", s.name).number == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fair_lock_beside_redisson)

BOOST_AUTO_TEST_CASE(woken_by_a_release_of_redisson)
{
    java_lab at;
    shared_fair s{at, "fair", queue_prefix};
    at.run([&] { return java_holds_and_we_wait(at.context(), s); });
}

BOOST_AUTO_TEST_CASE(a_release_of_ours_wakes_redisson)
{
    java_lab at;
    shared_fair s{at, "fair", queue_prefix};
    at.run([&] { return we_hold_and_java_waits(s); });
}

BOOST_AUTO_TEST_CASE(watchdogs)
{
    java_lab at;
    shared_fair s{at, "fair", queue_prefix};
    at.run([&] { return both_watchdogs_keep_what_is_held(at.context(), s); });
}

BOOST_AUTO_TEST_CASE(depth_force_questions)
{
    java_lab at;
    shared_fair s{at, "fair", queue_prefix};
    at.run([&]() -> asio::awaitable<void> {
        co_await the_depth_is_seen(s);
        co_await a_force_is_seen(at.context(), s);
        co_await questions_agree(s);
    });
}

// One queue: threads of Redisson and tasks of ours, in turn, are served as they came.
BOOST_AUTO_TEST_CASE(one_order)
{
    java_lab at;
    shared_fair s{at, "fair", queue_prefix};
    at.run([&]() -> asio::awaitable<void> {
        hold first = co_await s.mine.acquire();
        std::vector<int> served;
        std::vector<java_peer::call> theirs;
        tasks all{at.context()};
        for (int i = 0; i != 8; ++i) {
            if (i % 2 == 0)
                theirs.push_back(
                    s.java.begin("t" + std::to_string(i), "lock", s.kind, s.name, by_watchdog)
                );
            else
                all.start([&, i]() -> asio::awaitable<void> {
                    hold held = co_await s.mine.acquire();
                    served.push_back(i);
                    co_await held.release();
                });
            bool const queued = co_await eventually([&] { return s.waiting() == i + 1; });
            BOOST_TEST(queued);
        }
        co_await first.release();
        for (int i = 0; i != 8; i += 2) {
            auto const entered = co_await theirs.at(static_cast<std::size_t>(i) / 2).wait();
            BOOST_TEST(!entered.failed, entered.text);
            served.push_back(i);
            co_await s.ask("t" + std::to_string(i), "unlock");
        }
        co_await all.join(5s);
        BOOST_TEST(
            served == (std::vector{0, 1, 2, 3, 4, 5, 6, 7}), boost::test_tools::per_element()
        );
        bool const gone = co_await eventually([&] { return is_gone(s); });
        BOOST_TEST(gone);
    });
}

// A waiter of either side that gives up takes its place along.
BOOST_AUTO_TEST_CASE(who_gives_up_leaves_no_place)
{
    java_lab at;
    shared_fair s{at, "fair", queue_prefix};
    at.run([&]() -> asio::awaitable<void> {
        hold first = co_await s.mine.acquire();
        auto const none = s.java.begin("t1", "tryLock", s.kind, s.name, 300ms, by_watchdog);
        bool queued = co_await eventually([&] { return s.waiting() == 1; });
        BOOST_TEST(queued);
        auto const nothing = co_await s.mine.try_acquire_for(200ms);
        BOOST_TEST(!nothing.has_value());
        auto const tried = co_await none.wait();
        BOOST_TEST(tried.text == "false");
        BOOST_TEST(s.waiting() == 0);
        co_await first.release();
        auto const free = co_await s.ask("t2", "tryLock", 0ms, by_watchdog);
        BOOST_TEST(free == "true");
        co_await s.ask("t2", "unlock");
    });
}

BOOST_AUTO_TEST_CASE(names)
{
    java_lab at;
    at.run([&] { return names_are_shared<fair_lock>(at, "fair"); });
}

BOOST_AUTO_TEST_CASE(mixed_fleet) { fleet_of("fair", {}); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
