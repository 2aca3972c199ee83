// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `fair_lock` beside Redisson's RFairLock.
#include "interop/exclusive.hpp"
#include "interop/mixed_fleet.hpp"

#include <memory>

namespace colock::test {

namespace {

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
