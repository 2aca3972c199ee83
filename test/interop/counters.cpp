// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `semaphore` and `permit_semaphore` beside Redisson's.
#include "interop/shared_object.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(plain_semaphore)

BOOST_AUTO_TEST_CASE(counts_agree)
{
    java_lab at;
    shared_object<semaphore> s{at, "semaphore"};
    at.run([&]() -> asio::awaitable<void> {
        auto const agree = [&s](std::int64_t expected) -> asio::awaitable<void> {
            auto const here = co_await s.mine.available();
            auto const there = co_await s.ask("availablePermits");
            BOOST_TEST(here == expected);
            BOOST_TEST(there == std::to_string(expected));
        };
        BOOST_TEST(co_await s.ask("trySetPermits", three) == "true");
        BOOST_TEST(!co_await s.mine.try_set_permits(5));
        co_await s.mine.acquire(2);
        co_await agree(1);
        BOOST_TEST(co_await s.ask("tryAcquire", two, 0ms) == "false");
        co_await s.ask("acquire", one);
        co_await agree(0);
        BOOST_TEST(!co_await s.mine.try_acquire());
        co_await s.ask("release", three);
        co_await agree(3);
        BOOST_TEST(co_await s.mine.drain() == 3);
        co_await s.mine.release(2);
        BOOST_TEST(co_await s.ask("drainPermits") == "2");
        co_await agree(0);
        s.server.ask("DEL", s.name);
        BOOST_TEST(co_await s.mine.try_set_permits(4));
        co_await agree(4);
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(one_that_names_its_limit_is_an_ordinary_one_there)
{
    java_lab at;
    shared_object<semaphore> s{at, "semaphore"};
    at.run([&]() -> asio::awaitable<void> {
        auto const entering = s.begin("acquire", two);  // before anybody has set it
        co_await s.subscribed(s.channel(), 1);
        semaphore const limited{s.c.client, s.mine.name(), 3};
        co_await limited.acquire(1);
        auto const entered = co_await entering.wait();
        BOOST_TEST(!entered.failed, entered.text);
        BOOST_TEST(co_await s.ask("trySetPermits", one) == "false");
        BOOST_TEST(co_await s.ask("availablePermits") == "0");
        co_await limited.release(1);
        co_await s.ask("release", two);
        BOOST_TEST(co_await s.ask("drainPermits") == "3");
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(numbers_below_zero_and_a_life)
{
    java_lab at;
    shared_object<semaphore> s{at, "semaphore"};
    at.run([&]() -> asio::awaitable<void> {
        co_await s.mine.try_set_permits(1, 20s);
        BOOST_TEST(co_await s.ask("trySetPermits", two) == "false");
        co_await s.mine.add_permits(-3);
        auto there = co_await s.ask("availablePermits");
        BOOST_TEST(there == "-2");
        // It waits there while messages come that give it nothing.
        auto const entering = s.begin("acquire", one);
        co_await s.subscribed(s.channel(), 1);
        co_await s.mine.release(1);
        co_await s.mine.add_permits(1);
        BOOST_TEST(!entering.is_done());
        BOOST_TEST(co_await s.mine.release_if_exists(2));
        auto const entered = co_await entering.wait();
        BOOST_TEST(!entered.failed, entered.text);
        BOOST_TEST(s.server.ask("PTTL", s.name).number > 10'000);
        s.server.ask("DEL", s.name);
        bool const is_gone = !co_await s.mine.release_if_exists(2);
        BOOST_TEST(is_gone);
        if (!java_peer::is_oldest()) {
            BOOST_TEST(co_await s.ask("releaseIfExists", one) != "true");
            co_await s.ask("trySetPermitsFor", two, 20'000ms);
            co_await s.mine.acquire(1);
            BOOST_TEST(s.server.ask("PTTL", s.name).number > 10'000);
        }
        s.server.ask("DEL", s.name);
    });
}

BOOST_AUTO_TEST_CASE(woken_by_a_release_of_redisson)
{
    java_lab at;
    shared_object<semaphore> s{at, "semaphore"};
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
    shared_object<semaphore> s{at, "semaphore"};
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
    shared_object<semaphore> s{at, "semaphore"};
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
    shared_object<permit_semaphore> s{at, "permit"};
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
        if (!java_peer::is_oldest()) {
            auto lease = std::stoll(co_await s.ask("getLeaseTime", ours.id()));
            BOOST_TEST(lease > 18'000);
            BOOST_TEST(lease <= 20'000);
            co_await ours.extend(40s);
            lease = std::stoll(co_await s.ask("getLeaseTime", ours.id()));
            BOOST_TEST(lease > 38'000);
        }
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

BOOST_AUTO_TEST_CASE(several_at_once_by_id_and_their_number)
{
    java_lab at;
    shared_object<permit_semaphore> s{at, "permit"};
    at.run([&]() -> asio::awaitable<void> {
        auto const counts_are =
            [&s](std::int64_t available, std::int64_t acquired) -> asio::awaitable<void> {
            auto const here = co_await s.mine.available();
            auto const out = co_await s.mine.acquired();
            auto const all = co_await s.mine.permits();
            BOOST_TEST(here == available);
            BOOST_TEST(out == acquired);
            BOOST_TEST(all == available + acquired);
            auto there = co_await s.ask("availablePermits");
            BOOST_TEST(there == std::to_string(available));
            there = co_await s.ask("acquiredPermits");
            BOOST_TEST(there == std::to_string(acquired));
            there = co_await s.ask("getPermits");
            BOOST_TEST(there == std::to_string(available + acquired));
        };
        co_await s.mine.set_permits(4);
        auto ours = co_await s.mine.acquire_many(3, {.lease = 20s});
        co_await counts_are(1, 3);
        co_await s.ask("addPermits", two);
        co_await s.mine.add_permits(-1);
        co_await counts_are(2, 3);
        // One of ours is released there, and one of theirs here.
        co_await s.ask("release", ours.at(0).id());
        auto const theirs = co_await s.ask("acquire", 20'000ms);
        BOOST_TEST(co_await s.mine.extend(theirs, 30s));
        BOOST_TEST(co_await s.mine.release(theirs));
        BOOST_TEST(co_await s.ask("tryRelease", theirs) == "false");
        co_await counts_are(3, 2);
        if (!java_peer::is_oldest()) {
            auto const many = co_await s.ask("acquireMany", three, 20'000ms);
            std::vector<std::string> const ids{
                many.substr(0, 32), many.substr(33, 32), many.substr(66)};
            co_await counts_are(0, 5);
            co_await s.ask("setPermits", two);
            co_await counts_are(-3, 5);
            BOOST_TEST(co_await s.mine.release(ids));
            co_await counts_are(0, 2);
            co_await s.ask("releaseMany", ours.at(1).id() + "," + ours.at(2).id());
            co_await counts_are(2, 0);
        }
        s.server.ask("DEL", s.name, "{" + s.name + "}:timeout");
    });
}

BOOST_AUTO_TEST_CASE(each_wakes_the_other)
{
    java_lab at;
    shared_object<permit_semaphore> s{at, "permit"};
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
    shared_object<permit_semaphore> s{at, "permit"};
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

}  // namespace colock::test
