// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks with one owner at a time beside Redisson's: what they have in common, and what not.
#include "interop/exclusive.hpp"
#include "interop/mixed_fleet.hpp"

#include <boost/mpl/list.hpp>

#include <cstdlib>

namespace colock::test {

namespace {

using all_kinds = boost::mpl::list<plain, fenced, spinning, fair, writing>;
using woken_kinds = boost::mpl::list<plain, fenced, fair, writing>;
using named_kinds = boost::mpl::list<plain, fair, writing>;
using counted_kinds =
    boost::mpl::list<plain, fenced, spinning, fair>;  // by the one value of the hash

bool is_gone(beside<fair>& s)
{
    auto const keys = s.server().ask("KEYS", "*{" + s.name + "}*");
    return keys.items.empty() && s.server().ask("EXISTS", s.name).number == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(locks_beside_redisson)

BOOST_AUTO_TEST_CASE_TEMPLATE(woken_by_a_release_of_redisson, Kind, woken_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        std::vector<std::int64_t> times;
        for (int i = 0; i != rounds; ++i) {
            co_await s.ask("t1", "lock", by_watchdog);
            std::chrono::steady_clock::time_point entered;
            tasks all{s.context()};
            all.start([&]() -> asio::awaitable<void> {
                hold held = co_await s.mine.acquire();
                entered = std::chrono::steady_clock::now();
                co_await held.release();
            });
            bool const waits = co_await eventually([&] {
                return s.c.client.stats().waiters == 1 && s.waiting() == 1;
            });
            BOOST_TEST(waits);
            auto const before = std::chrono::steady_clock::now();
            co_await s.ask("t1", "unlock");
            co_await all.join(2s);
            times.push_back(ms_since(before, entered));
        }
        BOOST_TEST_MESSAGE("we were in after " << median(times) << " ms");
        BOOST_TEST(median(times) < longest_hand_over);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_release_of_ours_wakes_redisson, Kind, woken_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        std::vector<std::int64_t> times;
        for (int i = 0; i != rounds; ++i) {
            hold held = co_await s.mine.acquire({.lease = forgotten});
            auto const entering = s.begin("t1", "lock", by_watchdog);
            BOOST_TEST(co_await eventually([&] { return s.waiting() == 1; }));
            BOOST_TEST(!entering.is_done());
            auto const before = std::chrono::steady_clock::now();
            co_await held.release();
            auto const entered = co_await entering.wait();
            BOOST_TEST(!entered.failed, entered.text);
            times.push_back(ms_since(before, entered.at));
            co_await s.ask("t1", "unlock");
            co_await eventually([&] { return s.waiting() == 0; });
        }
        BOOST_TEST_MESSAGE("Redisson was in after " << median(times) << " ms");
        BOOST_TEST(median(times) < longest_hand_over);
    });
}

// Each side holds a lock for several of its leases while the other tries to get it.
BOOST_AUTO_TEST_CASE_TEMPLATE(watchdogs, Kind, all_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        auto const limit = 2 * java_peer::watchdog + 200ms;
        auto const other = unique_name(Kind::name);
        decltype(s.mine) const of_java{s.c.client, other};
        hold held = co_await s.mine.acquire();
        co_await s.java.ask("t1", "lock", Kind::name, other, by_watchdog);
        auto const trying = s.begin("t2", "tryLock", milliseconds{limit}, by_watchdog);
        bool got = true;
        tasks all{s.context()};
        all.start([&]() -> asio::awaitable<void> {
            auto const none = co_await of_java.try_acquire_for(limit);
            got = none.has_value();
        });
        co_await all.join(limit + 2s);
        auto const tried = co_await trying.wait();
        BOOST_TEST(!got);
        BOOST_TEST(tried.text == "false");
        BOOST_TEST(bool{held});
        BOOST_TEST(co_await s.java.ask("t1", "isHeldByCurrentThread", Kind::name, other) == "true");
        co_await held.release();
        co_await s.java.ask("t1", "unlock", Kind::name, other);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_depth_is_seen, Kind, counted_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        auto const depth = [&] { return s.server().ask("HVALS", s.name).items.at(0).text; };
        for (auto const* expected : {"1", "2", "3"}) {
            co_await s.ask("t1", "lock", by_watchdog);
            BOOST_TEST(depth() == expected);
        }
        for (int i = 0; i != 3; ++i) {
            BOOST_TEST(is_refused(co_await s.mine.try_acquire()));
            co_await s.ask("t1", "unlock");
        }
        owner const me;
        std::vector<hold> holds;
        for (auto const* expected : {"1", "2", "3"}) {
            hold held = co_await s.mine.acquire({.as = me});
            holds.push_back(std::move(held));
            BOOST_TEST(depth() == expected);
        }
        for (auto& held : holds) {
            BOOST_TEST(co_await s.ask("t1", "tryLock", 0ms, by_watchdog) == "false");
            co_await held.release();
        }
        BOOST_TEST(co_await s.ask("t1", "tryLock", 0ms, by_watchdog) == "true");
        // Another of Redisson's threads is another owner.
        BOOST_TEST(co_await s.ask("t2", "tryLock", 0ms, by_watchdog) == "false");
        co_await s.ask("t1", "unlock");
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(force, Kind, all_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        co_await s.ask("t1", "lock", by_watchdog);
        BOOST_TEST(co_await s.mine.force_release());
        BOOST_TEST(co_await s.ask("t1", "isHeldByCurrentThread") == "false");
        auto const unlocked = co_await s.begin("t1", "unlock").wait();
        // To these a lock that is gone is unlocked.
        constexpr bool is_writing = std::is_same_v<Kind, writing>;
        bool const is_content =
            std::is_same_v<Kind, fair> || (is_writing && java_peer::is_oldest());
        BOOST_TEST(unlocked.failed == !is_content);

        hold held = co_await s.mine.acquire();
        bool waited = false;
        tasks all{s.context()};
        all.start([&]() -> asio::awaitable<void> {
            co_await held.lost();
            waited = true;
        });
        BOOST_TEST(co_await s.ask("t1", "forceUnlock") == "true");
        co_await all.join(1s);  // at the next renewal
        BOOST_TEST(waited);
        BOOST_TEST(!held);
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(released == error::lost);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(questions, Kind, all_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        auto const expect = [&s](bool locked, milliseconds lease) -> asio::awaitable<void> {
            BOOST_TEST(co_await s.mine.is_locked() == locked);
            BOOST_TEST(co_await s.ask("t1", "isLocked") == (locked ? "true" : "false"));
            auto const left_here = co_await s.mine.remaining_lease();
            auto const left_there = std::stoll(co_await s.ask("t1", "remainTimeToLive"));
            BOOST_REQUIRE(left_here.has_value() == locked);
            if (locked) {
                BOOST_TEST(std::abs(left_here->count() - left_there) < 1'000);
                BOOST_TEST(left_there <= lease.count());
                BOOST_TEST(left_there > lease.count() - 2'000);
            } else
                BOOST_TEST(left_there == -2);
        };
        co_await expect(false, 0ms);
        co_await s.ask("t1", "lock", 20'000ms);
        co_await s.ask("t1", "lock", 20'000ms);
        // Redisson's writer adds up.
        co_await expect(true, std::is_same_v<Kind, writing> ? 40s : 20s);
        owner const me;
        auto ours = co_await s.mine.hold_count(me);
        BOOST_TEST(ours == 0);
        auto theirs = co_await s.ask("t1", "getHoldCount");
        BOOST_TEST(theirs == "2");
        co_await s.ask("t1", "unlock");
        co_await s.ask("t1", "unlock");

        hold held = co_await s.mine.acquire({.lease = 15s, .as = me});
        co_await expect(true, 15s);
        ours = co_await s.mine.hold_count(me);
        BOOST_TEST(ours == 1);
        theirs = co_await s.ask("t1", "getHoldCount");
        BOOST_TEST(theirs == "0");
        co_await held.release();
        co_await expect(false, 0ms);
    });
}

// Keys and channels are made of the name in the same way on both sides: each wakes the other.
BOOST_AUTO_TEST_CASE_TEMPLATE(names, Kind, named_kinds)
{
    beside<Kind> s;
    s.run([&]() -> asio::awaitable<void> {
        for (auto const& name :
             {std::string{"{tag}:order"},
              std::string{"a{b}c{d"},
              std::string{"with spaces and %25"},
              std::string{"\xc3\xa4\xe2\x82\xac"},
              std::string{"x"},
              std::string(10'000, 'n')}) {
            typename Kind::lock_type const mine{s.c.client, name};
            hold held = co_await mine.acquire({.lease = forgotten});
            auto const entering = s.java.begin("t1", "lock", Kind::name, name, by_watchdog);
            bool waits = co_await eventually([&] { return s.waiting(name) == 1; });
            BOOST_TEST(waits, "Redisson for " << name.substr(0, 20));
            co_await held.release();
            auto const entered = co_await entering.wait();
            BOOST_TEST(!entered.failed, entered.text);

            tasks all{s.context()};
            all.start([&]() -> asio::awaitable<void> {
                hold ours = co_await mine.acquire();
                co_await ours.release();
            });
            waits = co_await eventually([&] {
                return is_waiting(s.c.client, name) && s.waiting(name) != 0;
            });
            BOOST_TEST(waits, "ours for " << name.substr(0, 20));
            co_await s.java.ask("t1", "unlock", Kind::name, name);
            co_await all.join(2s);  // the poll cap is more
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(plain_lock_beside_redisson)

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

BOOST_AUTO_TEST_SUITE(fenced_lock_beside_redisson)

BOOST_AUTO_TEST_CASE(one_counter)
{
    beside<fenced> s;
    s.run([&]() -> asio::awaitable<void> {
        for (std::uint64_t expected = 1; expected != 11; expected += 2) {
            BOOST_TEST(co_await s.ask("t1", "lockAndGetToken") == std::to_string(expected));
            co_await s.ask("t1", "unlock");
            hold held = co_await s.mine.acquire();
            BOOST_TEST(held.fencing_token() == expected + 1);
            BOOST_TEST(co_await s.ask("t1", "getToken") == std::to_string(expected + 1));
            BOOST_TEST(co_await s.mine.token() == expected + 1);
            co_await held.release();
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(spin_lock_beside_redisson)

// Who waits looks at the latest after the longest pause, 128 ms on both sides.
BOOST_AUTO_TEST_CASE(each_finds_what_the_other_has_released)
{
    beside<spinning> s;
    s.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i != rounds; ++i) {
            co_await s.ask("t1", "lock", by_watchdog);
            hold ours;
            tasks all{s.context()};
            all.start([&]() -> asio::awaitable<void> { ours = co_await s.mine.acquire(); });
            co_await eventually([&] { return s.c.client.stats().waiters == 1; });
            co_await s.ask("t1", "unlock");
            co_await all.join(500ms);
            auto const entering = s.begin("t1", "lock", by_watchdog);
            co_await ours.release();
            auto const entered = co_await entering.wait();
            BOOST_TEST(!entered.failed, entered.text);
            co_await s.ask("t1", "unlock");
        }
        BOOST_TEST(s.c.client.stats().subscriptions == 0U);
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fair_lock_beside_redisson)

// One queue: threads of Redisson and tasks of ours, in turn, are served as they came.
BOOST_AUTO_TEST_CASE(one_order)
{
    beside<fair> s;
    s.run([&]() -> asio::awaitable<void> {
        hold first = co_await s.mine.acquire();
        std::vector<int> served;
        std::vector<java_peer::call> theirs;
        tasks all{s.context()};
        for (int i = 0; i != 8; ++i) {
            if (i % 2 == 0)
                theirs.push_back(s.begin("t" + std::to_string(i), "lock", by_watchdog));
            else
                all.start([&, i]() -> asio::awaitable<void> {
                    hold held = co_await s.mine.acquire();
                    served.push_back(i);
                    co_await held.release();
                });
            BOOST_TEST(co_await eventually([&] { return s.waiting() == i + 1; }));
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
        BOOST_TEST(co_await eventually([&] { return is_gone(s); }));
    });
}

// A waiter of either side that gives up takes its place along.
BOOST_AUTO_TEST_CASE(who_gives_up_leaves_no_place)
{
    beside<fair> s;
    s.run([&]() -> asio::awaitable<void> {
        hold first = co_await s.mine.acquire();
        auto const none = s.begin("t1", "tryLock", 300ms, by_watchdog);
        BOOST_TEST(co_await eventually([&] { return s.waiting() == 1; }));
        BOOST_TEST(is_refused(co_await s.mine.try_acquire_for(200ms)));
        BOOST_TEST((co_await none.wait()).text == "false");
        BOOST_TEST(s.waiting() == 0);
        co_await first.release();
        BOOST_TEST(co_await s.ask("t2", "tryLock", 0ms, by_watchdog) == "true");
        co_await s.ask("t2", "unlock");
    });
}

BOOST_AUTO_TEST_CASE(mixed_fleet) { fleet_of("fair", {}); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
