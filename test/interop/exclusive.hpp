// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/names.hpp"
#include "integration/suites.hpp"
#include "interop/peer.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

// What every exclusive lock has in common with its counterpart in Redisson. `Lock` is ours, `kind`
// is Redisson's name of it in Objects.java.
namespace colock::test {

/// How long after a release the other side may take to get in. The machine may be busy: of several
/// rounds the one in the middle counts.
constexpr int rounds = 5;
constexpr std::int64_t longest_hand_over = 100;

/// A thread of Redisson's that doesn't sleep yet misses the message of a writer, and sleeps until
/// the lease ends that it was told of. So ours have a short one where Redisson waits.
constexpr milliseconds forgotten{3'000};

inline std::int64_t median(std::vector<std::int64_t> times)
{
    std::ranges::sort(times);
    return times.at(times.size() / 2);
}

template <class Clock>
std::int64_t ms_since(std::chrono::time_point<Clock> begin, std::chrono::time_point<Clock> end)
{
    return std::chrono::duration_cast<milliseconds>(end - begin).count();
}

/// How many are subscribed to a channel.
inline std::int64_t subscribers(redis_server& server, std::string const& channel)
{
    return server.ask("PUBSUB", "NUMSUB", channel).items.at(1).number;
}

/// Both sides on one new name. By default the poll cap is 5 s: what is in sooner was woken.
template <class Lock>
struct shared_lock {
    shared_lock(java_lab& at, std::string java_kind, std::string channel_prefix)
        : kind{std::move(java_kind)}
        , name{unique_name(kind)}
        , channel{channel_prefix + ":{" + name + "}"}  // of a fair lock: its queue
        , server{at.server()}
        , java{shared_java()}
        , c{at.connect(brief(at.settings()))}
        , mine{c.client, name}
    {}

    template <class... Arguments>
    auto ask(std::string thread, std::string command, Arguments... arguments)
    {
        return java.ask(std::move(thread), std::move(command), kind, name, arguments...);
    }

    /// How many wait, on either side: for a message, or in the queue of a fair lock.
    std::int64_t waiting() const
    {
        return kind == "fair" ? server.ask("LLEN", channel).number : subscribers(server, channel);
    }

    std::string kind, name, channel;
    redis_server& server;
    java_peer& java;
    running_client& c;
    Lock mine;
};

template <class Shared>
asio::awaitable<void> java_holds_and_we_wait(asio::io_context& on, Shared& s)
{
    std::vector<std::int64_t> times;
    for (int i = 0; i != rounds; ++i) {
        co_await s.ask("t1", "lock", by_watchdog);
        std::chrono::steady_clock::time_point entered;
        tasks all{on};
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
}

template <class Shared>
asio::awaitable<void> we_hold_and_java_waits(Shared& s)
{
    std::vector<std::int64_t> times;
    for (int i = 0; i != rounds; ++i) {
        hold held = co_await s.mine.acquire({.lease = forgotten});
        auto const entering = s.java.begin("t1", "lock", s.kind, s.name, by_watchdog);
        bool const waits = co_await eventually([&] { return s.waiting() == 1; });
        BOOST_TEST(waits);
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
}

/// Each side holds a lock for several of its leases while the other tries to get it.
template <class Shared>
asio::awaitable<void> both_watchdogs_keep_what_is_held(asio::io_context& on, Shared& s)
{
    auto const limit = 2 * java_peer::watchdog + 200ms;
    auto const other = unique_name(s.kind);
    decltype(s.mine) const of_java{s.c.client, other};
    hold held = co_await s.mine.acquire();
    co_await s.java.ask("t1", "lock", s.kind, other, by_watchdog);
    auto const trying =
        s.java.begin("t2", "tryLock", s.kind, s.name, milliseconds{limit}, by_watchdog);
    bool got = true;
    tasks all{on};
    all.start([&]() -> asio::awaitable<void> {
        auto const none = co_await of_java.try_acquire_for(limit);
        got = none.has_value();
    });
    co_await all.join(limit + 2s);
    auto const tried = co_await trying.wait();
    BOOST_TEST(!got);
    BOOST_TEST(tried.text == "false");
    BOOST_TEST(bool{held});
    auto const java_holds = co_await s.java.ask("t1", "isHeldByCurrentThread", s.kind, other);
    BOOST_TEST(java_holds == "true");
    co_await held.release();
    co_await s.java.ask("t1", "unlock", s.kind, other);
}

template <class Shared>
asio::awaitable<void> the_depth_is_seen(Shared& s)
{
    auto const depth = [&] { return s.server.ask("HVALS", s.name).items.at(0).text; };
    for (auto const* expected : {"1", "2", "3"}) {
        co_await s.ask("t1", "lock", by_watchdog);
        BOOST_TEST(depth() == expected);
    }
    for (int i = 0; i != 3; ++i) {
        auto const none = co_await s.mine.try_acquire();
        BOOST_TEST(!none.has_value());
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
        auto const got = co_await s.ask("t1", "tryLock", 0ms, by_watchdog);
        BOOST_TEST(got == "false");
        co_await held.release();
    }
    auto const got = co_await s.ask("t1", "tryLock", 0ms, by_watchdog);
    BOOST_TEST(got == "true");
    // Another of Redisson's threads is another owner.
    auto const second = co_await s.ask("t2", "tryLock", 0ms, by_watchdog);
    BOOST_TEST(second == "false");
    co_await s.ask("t1", "unlock");
}

template <class Shared>
asio::awaitable<void> a_force_is_seen(asio::io_context& on, Shared& s)
{
    co_await s.ask("t1", "lock", by_watchdog);
    bool const forced = co_await s.mine.force_release();
    BOOST_TEST(forced);
    auto const held_there = co_await s.ask("t1", "isHeldByCurrentThread");
    BOOST_TEST(held_there == "false");
    auto const unlocked = co_await s.java.begin("t1", "unlock", s.kind, s.name).wait();
    // To these a lock that is gone is unlocked.
    bool const is_content = s.kind == "fair" || (s.kind == "write" && java_peer::is_oldest());
    BOOST_TEST(unlocked.failed == !is_content);

    hold held = co_await s.mine.acquire();
    bool waited = false;
    tasks all{on};
    all.start([&]() -> asio::awaitable<void> {
        co_await held.lost();
        waited = true;
    });
    auto const forced_there = co_await s.ask("t1", "forceUnlock");
    BOOST_TEST(forced_there == "true");
    co_await all.join(1s);  // at the next renewal
    BOOST_TEST(waited);
    BOOST_TEST(!held);
    auto const [released] = co_await held.release(tuple);
    BOOST_TEST(released == error::lost);
}

template <class Shared>
asio::awaitable<void> questions_agree(Shared& s)
{
    auto const expect = [&s](bool locked, milliseconds lease) -> asio::awaitable<void> {
        bool const here = co_await s.mine.is_locked();
        BOOST_TEST(here == locked);
        auto const there = co_await s.ask("t1", "isLocked");
        BOOST_TEST(there == (locked ? "true" : "false"));
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
    co_await expect(true, s.kind == "write" ? 40s : 20s);  // Redisson's writer adds up
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
}

/// Keys and channels are made of the name in the same way on both sides: each wakes the other.
template <class Lock>
asio::awaitable<void> names_are_shared(java_lab& at, std::string kind)
{
    auto& c = at.connect(brief(at.settings()));
    auto& java = shared_java();
    for (auto const& name :
         {std::string{"{tag}:order"},
          std::string{"a{b}c{d"},
          std::string{"with spaces and %25"},
          std::string{"\xc3\xa4\xe2\x82\xac"},
          std::string{"x"},
          std::string(10'000, 'n')}) {
        auto const waiting = [&] {
            if (kind == "fair")
                return at.server().ask("LLEN", decide::fair_keys{name}.queue).number;
            return subscribers(
                at.server(),
                kind == "write" ? decide::read_write_channel(name) : decide::lock_channel(name)
            );
        };
        Lock const mine{c.client, name};
        hold held = co_await mine.acquire({.lease = forgotten});
        auto const entering = java.begin("t1", "lock", kind, name, by_watchdog);
        bool waits = co_await eventually([&] { return waiting() == 1; });
        BOOST_TEST(waits, "Redisson for " << name.substr(0, 20));
        co_await held.release();
        auto const entered = co_await entering.wait();
        BOOST_TEST(!entered.failed, entered.text);

        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            hold ours = co_await mine.acquire();
            co_await ours.release();
        });
        waits = co_await eventually([&] { return is_waiting(c.client, name) && waiting() != 0; });
        BOOST_TEST(waits, "ours for " << name.substr(0, 20));
        co_await java.ask("t1", "unlock", kind, name);
        co_await all.join(2s);  // the poll cap is more
    }
}

}  // namespace colock::test
