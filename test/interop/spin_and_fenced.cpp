// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `fenced_lock` beside Redisson's RFencedLock, and `spin_lock` beside its RSpinLock.
#include "interop/exclusive.hpp"

namespace colock::test {

namespace {

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

}  // namespace colock::test
