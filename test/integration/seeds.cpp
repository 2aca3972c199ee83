// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the articles about Redisson's locks measure and show with Java threads, here with
// coroutines: what a reader of them expects of a lock.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/seed.hpp"

#include <array>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(seeds)

BOOST_DATA_TEST_CASE(ten_thousand_times_lock_and_unlock, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect();
    int const pairs = from_environment("COLOCK_PAIRS", 10'000);
    at.run(
        [&]() -> asio::awaitable<void> {
            std::string const base = unique_name("cost") + ":";
            stopwatch const watch;
            for (int i = 0; i != pairs; ++i) {
                lock mine{c.client, base + std::to_string(i)};
                hold held = co_await mine.acquire();
                co_await held.release();
            }
            BOOST_TEST_MESSAGE(pairs << " pairs in " << watch.ms() << " ms");
            BOOST_TEST(c.client.stats().keys == 0U);
        },
        50s
    );
}

BOOST_DATA_TEST_CASE(of_a_thousand_who_try_once_one_wins, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect(), &at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("once");
        std::vector<hold> won;
        int tried = 0;
        tasks all{at.context()};
        for (unsigned i = 0; i != 1'000; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                lock mine{clients[i % 4]->client, name};
                auto held = co_await mine.try_acquire();
                ++tried;
                if (held)
                    won.push_back(std::move(*held));
            });
        co_await all.join(10s);
        BOOST_TEST(tried == 1'000);
        BOOST_REQUIRE(won.size() == 1U);
        BOOST_TEST(bool{won.front()});
        co_await won.front().release();
    });
}

BOOST_DATA_TEST_CASE(a_hundred_get_in_one_after_the_other, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect(), &at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("all");
        section critical;
        tasks all{at.context()};
        std::uint64_t last_token = 0;
        for (unsigned i = 0; i != 100; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                lock mine{clients[i % 4]->client, name};
                auto held = co_await mine.try_acquire_for(10s);
                BOOST_REQUIRE(held.has_value());
                BOOST_TEST(held->fencing_token() > last_token);
                last_token = held->fencing_token();
                co_await critical.stay(1ms);
                co_await held->release();
            });
        co_await all.join(15s);
        BOOST_TEST(critical.visits() == 100);
    });
}

BOOST_DATA_TEST_CASE(a_wait_runs_out_in_its_time, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("wait");
        lock const of_a{a.client, name}, of_b{b.client, name};
        hold held = co_await of_a.acquire();
        // The machine may be busy: of several tries the quickest counts.
        std::int64_t quickest = 1'000;
        for (int i = 0; i != 3; ++i) {
            stopwatch const watch;
            auto const none = co_await of_b.try_acquire_for(200ms);
            BOOST_TEST(!none.has_value());
            BOOST_TEST(watch.ms() >= 200);
            quickest = std::min(quickest, watch.ms());
        }
        BOOST_TEST(quickest < within(250));
        BOOST_TEST(bool{held});
        BOOST_TEST(b.client.stats().waiters == 0U);
    });
}

BOOST_DATA_TEST_CASE(when_a_releases_b_gets_in, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto slow = quick(server.by_socket());
    slow.lease = 10s;  // it is the message that counts, not the end of a lease
    auto& a = at.connect(slow);
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("turn");
        hold of_a = co_await lock{a.client, name}.acquire();
        hold of_b;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            of_b = co_await lock{b.client, name}.acquire();
        });
        co_await eventually([&] { return b.client.stats().subscriptions == 1; });
        BOOST_TEST(!of_b);
        stopwatch const watch;
        co_await of_a.release();
        co_await all.join(5s);
        BOOST_TEST(bool{of_b});
        BOOST_TEST(watch.ms() < within(200));  // by the message: the poll comes seconds later
        BOOST_TEST(of_b.fencing_token() > 0U);
    });
}

BOOST_DATA_TEST_CASE(when_a_releases_b_and_c_compete, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto slow = quick(server.by_socket());
    slow.lease = 10s;  // it is the message that counts, not the end of a lease
    auto& a = at.connect(slow);
    std::array others{&at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("compete");
        hold of_a = co_await lock{a.client, name}.acquire();
        section critical;
        tasks all{at.context()};
        for (auto* other : others)
            all.start([&, other]() -> asio::awaitable<void> {
                hold held = co_await lock{other->client, name}.acquire();
                BOOST_TEST(!of_a);
                co_await critical.stay(20ms);
                co_await held.release();
            });
        co_await eventually([&] {
            return others[0]->client.stats().subscriptions == 1 &&
                others[1]->client.stats().subscriptions == 1;
        });
        stopwatch const watch;
        co_await of_a.release();
        co_await all.join(5s);
        BOOST_TEST(critical.visits() == 2);
        BOOST_TEST(watch.ms() < within(1'000));
    });
}

BOOST_DATA_TEST_CASE(the_same_owner_enters_twice, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("twice")};
        owner const me;
        auto const depth = [&] {
            auto const all = server.ask("HGETALL", mine.name());
            return all.items.size() == 2 ? all.items[1].text : std::string{"?"};
        };
        hold outer = co_await mine.acquire({.as = me});
        BOOST_TEST(depth() == "1");
        stopwatch const watch;
        auto inner = co_await mine.try_acquire({.as = me});
        BOOST_REQUIRE(inner.has_value());
        BOOST_TEST(depth() == "2");
        BOOST_TEST(inner->fencing_token() == outer.fencing_token());
        auto const count = co_await mine.hold_count(me);
        BOOST_TEST(count == 2);
        auto const stranger = co_await mine.try_acquire();
        BOOST_TEST(!stranger.has_value());
        co_await inner->release();
        BOOST_TEST(depth() == "1");
        BOOST_TEST(bool{outer});
        co_await outer.release();
        BOOST_TEST(server.ask("EXISTS", mine.name()).number == 0);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// The three experiments with the watchdog.
BOOST_AUTO_TEST_SUITE(seeds_watchdog)

// Experiment one: nobody releases, and the watchdog renews without end.
BOOST_DATA_TEST_CASE(never_released_nobody_else_gets_in, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("forgotten");
        hold forgotten = co_await lock{a.client, name}.acquire();
        auto const first_end = forgotten.valid_until();
        auto const none = co_await lock{b.client, name}.try_acquire_for(4 * 400ms);
        BOOST_TEST(!none.has_value());
        BOOST_TEST(bool{forgotten});
        BOOST_TEST((forgotten.valid_until() - first_end >= 3 * 400ms));
        BOOST_TEST(server.ask("PTTL", name).number > 100);
    });
}

// Experiment two: the lease is shorter than the work.
BOOST_DATA_TEST_CASE(a_lease_shorter_than_the_work_is_lost, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("too-short");
        stopwatch const watch;
        hold first = co_await lock{a.client, name}.acquire({.lease = 300ms});
        hold second;
        std::int64_t entered = 0, told = 0;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            second = co_await lock{b.client, name}.acquire({.lease = 10s});
            entered = watch.ms();
            BOOST_TEST(!first);  // told before this
        });
        co_await first.lost();
        told = watch.ms();
        BOOST_TEST(!first);
        BOOST_TEST(!first.valid_for(0ms));
        BOOST_TEST(first.stop_token().stop_requested());
        BOOST_TEST(told >= 200);
        BOOST_TEST(told < within(300));
        co_await all.join(5s);
        BOOST_TEST(entered >= 295);  // not before the lease is over
        BOOST_TEST(entered < within(600));
        auto const [ec] = co_await first.release(tuple);
        BOOST_TEST(ec == error::lost);
        BOOST_TEST(bool{second});  // the late release has taken nothing from it
        auto const [none] = co_await second.release(tuple);
        BOOST_TEST(!none);
    });
}

// Experiment three: the watchdog used right.
BOOST_DATA_TEST_CASE(renewed_and_released_two_take_turns, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(), &at.connect()};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("right");
        section critical;
        tasks all{at.context()};
        stopwatch const watch;
        for (auto* c : clients)
            all.start([&, c]() -> asio::awaitable<void> {
                auto held = co_await lock{c->client, name}.try_acquire_for(5s);
                BOOST_REQUIRE(held.has_value());
                co_await critical.stay(700ms);  // longer than the lease
                BOOST_TEST(bool{*held});
                auto const [ec] = co_await held->release(tuple);
                BOOST_TEST(!ec);
            });
        co_await all.join(5s);
        BOOST_TEST(critical.visits() == 2);
        BOOST_TEST(watch.ms() >= 1'400);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
