// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `semaphore`, `permit_semaphore` and `countdown_latch` beside Redisson's.
#include "interop/exclusive.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Both sides of one object.
template <class Object>
struct pair {
    pair(java_lab& at, std::string java_kind)
        : kind{std::move(java_kind)}
        , name{unique_name(kind)}
        , server{at.server()}
        , java{shared_java()}
        , c{at.connect()}
        , mine{c.client, name}
    {}

    template <class... Arguments>
    auto ask(std::string command, Arguments... arguments)
    {
        return java.ask("t1", std::move(command), kind, name, arguments...);
    }

    template <class... Arguments>
    auto begin(std::string const& command, Arguments const&... arguments)
    {
        return java.begin("t2", command, kind, name, arguments...);
    }

    std::string channel() const { return "redisson_sc:{" + name + "}"; }

    asio::awaitable<void> subscribed(std::string of, std::int64_t count)
    {
        bool const so = co_await eventually([&] { return subscribers(server, of) == count; });
        BOOST_TEST(so);
    }

    std::string kind, name;
    redis_server& server;
    java_peer& java;
    running_client& c;
    Object mine;
};

constexpr std::int64_t one = 1, two = 2, three = 3;

}  // namespace

BOOST_AUTO_TEST_SUITE(plain_semaphore)

BOOST_AUTO_TEST_CASE(counts_agree)
{
    java_lab at;
    pair<semaphore> s{at, "semaphore"};
    at.run([&]() -> asio::awaitable<void> {
        auto const agree = [&s](std::int64_t expected) -> asio::awaitable<void> {
            auto const here = co_await s.mine.available();
            auto const there = co_await s.ask("availablePermits");
            BOOST_TEST(here == expected);
            BOOST_TEST(there == std::to_string(expected));
        };
        auto set = co_await s.ask("trySetPermits", three);
        BOOST_TEST(set == "true");
        bool const again = co_await s.mine.try_set_permits(5);
        BOOST_TEST(!again);
        co_await s.mine.acquire(2);
        co_await agree(1);
        auto const none = co_await s.ask("tryAcquire", two, 0ms);
        BOOST_TEST(none == "false");
        co_await s.ask("acquire", one);
        co_await agree(0);
        bool const got = co_await s.mine.try_acquire();
        BOOST_TEST(!got);
        co_await s.ask("release", three);
        co_await agree(3);
        auto const drained = co_await s.mine.drain();
        BOOST_TEST(drained == 3);
        co_await s.mine.release(2);
        auto const drained_there = co_await s.ask("drainPermits");
        BOOST_TEST(drained_there == "2");
        co_await agree(0);
        s.server.ask("DEL", s.name);
        bool const made = co_await s.mine.try_set_permits(4);
        BOOST_TEST(made);
        co_await agree(4);
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(woken_by_a_release_of_redisson)
{
    java_lab at;
    pair<semaphore> s{at, "semaphore"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.ask("trySetPermits", two);
        std::vector<std::int64_t> times;
        for (int i = 0; i != rounds; ++i) {
            co_await s.ask("acquire", two);
            std::chrono::steady_clock::time_point entered;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                co_await s.mine.acquire(2);
                entered = std::chrono::steady_clock::now();
                co_await s.mine.release(2);
            });
            co_await s.subscribed(s.channel(), 1);
            co_await s.ask("release", one);
            auto const before = std::chrono::steady_clock::now();
            co_await s.ask("release", one);
            co_await all.join(2s);
            times.push_back(ms_since(before, entered));
        }
        BOOST_TEST(median(times) < longest_hand_over);
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(a_release_of_ours_wakes_redisson)
{
    java_lab at;
    pair<semaphore> s{at, "semaphore"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.mine.try_set_permits(1);
        std::vector<std::int64_t> times;
        for (int i = 0; i != rounds; ++i) {
            co_await s.mine.acquire();
            auto const entering = s.begin("acquire", one);
            co_await s.subscribed(s.channel(), 1);
            BOOST_TEST(!entering.is_done());
            auto const before = std::chrono::steady_clock::now();
            co_await s.mine.release();
            auto const entered = co_await entering.wait();
            BOOST_TEST(!entered.failed, entered.text);
            times.push_back(ms_since(before, entered.at));
            co_await s.ask("release", one);
            co_await s.subscribed(s.channel(), 0);
        }
        BOOST_TEST(median(times) < longest_hand_over);
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(never_too_many_inside)
{
    java_lab at;
    pair<semaphore> s{at, "semaphore"};
    at.run(
        [&]() -> asio::awaitable<void> {
            constexpr int turns = 100;
            co_await s.mine.try_set_permits(3);
            int out = 0, most = 0;
            tasks all{at.context()};
            for (int i = 0; i != 8; ++i)
                all.start([&, i]() -> asio::awaitable<void> {
                    auto const thread = "s" + std::to_string(i);
                    for (int n = 0; n != turns; ++n) {
                        if (i % 2 == 0)
                            co_await s.mine.acquire();
                        else
                            co_await s.java.ask(thread, "acquire", s.kind, s.name, one);
                        most = std::max(most, ++out);
                        --out;
                        if (i % 2 == 0)
                            co_await s.mine.release();
                        else
                            co_await s.java.ask(thread, "release", s.kind, s.name, one);
                    }
                });
            co_await all.join(25s);
            BOOST_TEST(most <= 3);
            BOOST_TEST(s.server.ask("GET", s.name).text == "3");
            s.server.ask("DEL", s.name);
        },
        30s
    );
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(permit_expirable_semaphore)

BOOST_AUTO_TEST_CASE(ids_and_counts_agree)
{
    java_lab at;
    pair<permit_semaphore> s{at, "permit"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.ask("trySetPermits", three);
        auto const theirs = co_await s.ask("acquire", 20'000ms);
        BOOST_TEST(theirs.size() == 32U);
        permit ours = co_await s.mine.acquire({.lease = 20s});
        auto left = co_await s.mine.available();
        BOOST_TEST(left == 1);
        auto there = co_await s.ask("availablePermits");
        BOOST_TEST(there == "1");
        there = co_await s.ask("acquiredPermits");
        BOOST_TEST(there == "2");
        there = co_await s.ask("getPermits");
        BOOST_TEST(there == "3");
        auto lease = std::stoll(co_await s.ask("getLeaseTime", ours.id()));
        BOOST_TEST(lease > 18'000);
        BOOST_TEST(lease <= 20'000);
        co_await ours.extend(40s);
        lease = std::stoll(co_await s.ask("getLeaseTime", ours.id()));
        BOOST_TEST(lease > 38'000);
        // Whoever knows the id may set the lease and release.
        there = co_await s.ask("updateLeaseTime", ours.id(), 50'000ms);
        BOOST_TEST(there == "true");
        co_await s.ask("release", ours.id());
        auto const [released] = co_await ours.release(tuple);
        BOOST_TEST(released == error::lost);
        left = co_await s.mine.available();
        BOOST_TEST(left == 2);
        co_await s.ask("release", theirs);
        permit again = co_await s.mine.acquire();
        auto const id = again.id();
        co_await again.release();
        there = co_await s.ask("tryRelease", id);
        BOOST_TEST(there == "false");
        there = co_await s.ask("availablePermits");
        BOOST_TEST(there == "3");
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(each_wakes_the_other)
{
    java_lab at;
    pair<permit_semaphore> s{at, "permit"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.mine.try_set_permits(1);
        std::vector<std::int64_t> to_us, to_them;
        for (int i = 0; i != rounds; ++i) {
            auto const theirs = co_await s.ask("acquire", by_watchdog);  // never ends
            std::chrono::steady_clock::time_point entered;
            permit ours;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                ours = co_await s.mine.acquire();
                entered = std::chrono::steady_clock::now();
            });
            co_await s.subscribed(s.channel(), 1);
            auto before = std::chrono::steady_clock::now();
            co_await s.ask("release", theirs);
            co_await all.join(2s);
            to_us.push_back(ms_since(before, entered));

            co_await s.subscribed(s.channel(), 0);  // ours has lingered
            auto const entering = s.begin("acquire", 20'000ms);
            co_await s.subscribed(s.channel(), 1);
            before = std::chrono::steady_clock::now();
            co_await ours.release();
            auto const got = co_await entering.wait();
            BOOST_TEST(!got.failed, got.text);
            to_them.push_back(ms_since(before, got.at));
            co_await s.ask("release", got.text);
            co_await s.subscribed(s.channel(), 0);
        }
        BOOST_TEST(median(to_us) < longest_hand_over);
        BOOST_TEST(median(to_them) < longest_hand_over);
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(ours_are_kept_and_come_back_by_their_leases)
{
    java_lab at;
    pair<permit_semaphore> s{at, "permit"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.mine.try_set_permits(1);
        permit renewed = co_await s.mine.acquire();  // a lease of 400 ms
        auto const none = co_await s.ask("tryAcquire", 1'500ms, 10'000ms);
        BOOST_TEST((none.empty() || none == "null"), none);
        BOOST_TEST(bool{renewed});
        co_await renewed.release();
        // One that ends by itself is Redisson's without a message; and the other way round.
        permit const leased = co_await s.mine.acquire({.lease = 300ms});
        auto const theirs = co_await s.ask("tryAcquire", 3'000ms, 300ms);
        BOOST_TEST(theirs.size() == 32U, theirs);
        auto const ours = co_await s.mine.try_acquire_for(3s);
        BOOST_TEST(ours.has_value());
        BOOST_TEST(!leased);
        s.server.ask("DEL", s.name, "{" + s.name + "}:timeout");
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(latch)

BOOST_AUTO_TEST_CASE(each_opens_it_for_the_other)
{
    java_lab at;
    pair<countdown_latch> s{at, "latch"};
    at.run([&]() -> asio::awaitable<void> {
        auto const channel = "redisson_countdownlatch__channel__{" + s.name + "}";
        std::vector<std::int64_t> to_us, to_them;
        for (int i = 0; i != rounds; ++i) {
            auto const set = co_await s.ask("trySetCount", two);
            BOOST_TEST(set == "true");
            bool const again = co_await s.mine.try_set_count(3);
            BOOST_TEST(!again);
            std::chrono::steady_clock::time_point passed;
            tasks all{at.context()};
            all.start([&]() -> asio::awaitable<void> {
                co_await s.mine.wait();
                passed = std::chrono::steady_clock::now();
            });
            co_await s.subscribed(channel, 1);
            co_await s.mine.count_down();
            auto const left = co_await s.ask("getCount");
            BOOST_TEST(left == "1");
            auto before = std::chrono::steady_clock::now();
            co_await s.ask("countDown");
            co_await all.join(2s);
            to_us.push_back(ms_since(before, passed));

            co_await s.subscribed(channel, 0);
            co_await s.mine.try_set_count(2);
            auto const waiting = s.begin("await", 20'000ms);
            co_await s.subscribed(channel, 1);
            co_await s.ask("countDown");
            auto const count = co_await s.mine.count();
            BOOST_TEST(count == 1);
            BOOST_TEST(!waiting.is_done());
            before = std::chrono::steady_clock::now();
            co_await s.mine.count_down();
            auto const got = co_await waiting.wait();
            BOOST_TEST(got.text == "true");
            to_them.push_back(ms_since(before, got.at));
            co_await s.subscribed(channel, 0);
        }
        BOOST_TEST(median(to_us) < longest_hand_over);
        BOOST_TEST(median(to_them) < longest_hand_over);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
