// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The whole family in a cluster, while the slot of the name moves to and fro.
#include "family/kinds.hpp"
#include "integration/suites.hpp"
#include "support/redis_cluster.hpp"

#include <algorithm>
#include <string>

namespace colock::test {

struct cluster_lab : lab {
    explicit cluster_lab(std::string_view about)
        : lab{shared_cluster(installed_servers().back())}
        , name{unique_name(about)}
        , slot{cluster.slot_of(name)}
        , home{cluster.primary_of(slot)}
    {
        auto const all = cluster.primaries();
        while (&cluster.node(other) == &cluster.node(home) ||
               std::ranges::find(all, &cluster.node(other)) == all.end())
            ++other;
    }

    /// One step after the other, at its own pace, as an operator's tool does while others work.
    asio::awaitable<void> move_slot(int times)
    {
        for (int i = 0; i != times; ++i) {
            auto const to = i % 2 ? home : other;
            cluster.begin_migration(slot, to);
            co_await rest();
            cluster.move_key(name, to);
            co_await rest();
            cluster.move_keys(slot, to);
            co_await rest();
            cluster.end_migration(slot, to);
            co_await rest();
        }
    }

    redis_cluster& cluster = shared_cluster(installed_servers().back());
    std::string name;
    unsigned slot;
    std::size_t home;
    std::size_t other = 0;
    running_client& one = connect(patient());
    running_client& two = connect(patient());

private:
    /// However long a busy machine takes to move a slot.
    config patient() const
    {
        auto c = settings();
        c.timeout = 10s;
        return c;
    }
    static asio::awaitable<void> rest()
    {
        asio::steady_timer timer{co_await asio::this_coro::executor, 30ms};
        co_await timer.async_wait(asio::deferred);
    }
};

BOOST_AUTO_TEST_SUITE(in_a_cluster)

BOOST_AUTO_TEST_CASE_TEMPLATE(one_at_a_time_while_the_slot_moves, Kind, exclusive)
{
    cluster_lab at{Kind::name};
    at.run(
        [&]() -> asio::awaitable<void> {
            section critical;
            tasks all{at.context()};
            bool ended = false;
            for (int i = 0; i != 16; ++i)
                all.start([&, i]() -> asio::awaitable<void> {
                    auto const mine = Kind::of(i % 2 ? at.one.client : at.two.client, at.name);
                    while (!ended) {
                        auto held = co_await mine.acquire();
                        co_await critical.stay(1ms);
                        auto const [ec] = co_await held.release(tuple);
                        BOOST_TEST(!ec, ec.message());
                    }
                });
            co_await at.move_slot(4);
            auto const before = critical.visits();
            BOOST_TEST(co_await eventually([&] { return critical.visits() > before + 16; }));
            ended = true;
            co_await all.join(20s);
        },
        60s
    );
}

BOOST_AUTO_TEST_CASE(many_readers_or_one_writer_while_the_slot_moves)
{
    cluster_lab at{"read_write"};
    at.run(
        [&]() -> asio::awaitable<void> {
            tasks all{at.context()};
            int reading = 0, writing = 0, visits = 0;
            bool ended = false;
            auto const work = [&](int i) -> asio::awaitable<void> {
                read_write_lock const mine{i % 2 ? at.one.client : at.two.client, at.name};
                bool const writes = i % 4 == 0;
                while (!ended) {
                    hold held;  // in one expression g++ 12 mixes the two up
                    if (writes)
                        held = co_await mine.write().acquire();
                    else
                        held = co_await mine.read().acquire();
                    BOOST_TEST(writing == 0);
                    BOOST_TEST((!writes || reading == 0));
                    ++(writes ? writing : reading);
                    asio::steady_timer timer{co_await asio::this_coro::executor, 1ms};
                    co_await timer.async_wait(asio::deferred);
                    BOOST_TEST(bool{held});
                    --(writes ? writing : reading);
                    ++visits;
                    auto const [ec] = co_await held.release(tuple);
                    BOOST_TEST(!ec, ec.message());
                }
            };
            for (int i = 0; i != 16; ++i)
                all.start([&work, i] { return work(i); });
            co_await at.move_slot(4);
            auto const before = visits;
            BOOST_TEST(co_await eventually([&] { return visits > before + 16; }));
            ended = true;
            co_await all.join(20s);
        },
        60s
    );
}

BOOST_AUTO_TEST_CASE(a_semaphore_keeps_count_while_the_slot_moves)
{
    cluster_lab at{"semaphore"};
    at.run(
        [&]() -> asio::awaitable<void> {
            semaphore const first{at.one.client, at.name};
            BOOST_TEST(co_await first.try_set_permits(3));
            tasks all{at.context()};
            int out = 0, visits = 0;
            bool ended = false;
            for (int i = 0; i != 12; ++i)
                all.start([&, i]() -> asio::awaitable<void> {
                    semaphore const mine{i % 2 ? at.one.client : at.two.client, at.name};
                    while (!ended) {
                        co_await mine.acquire(1);
                        BOOST_TEST(++out <= 3);
                        ++visits;
                        asio::steady_timer timer{co_await asio::this_coro::executor, 1ms};
                        co_await timer.async_wait(asio::deferred);
                        --out;
                        // A change whose answer was lost says so, and is made all the same.
                        auto const [ec] = co_await mine.release(1, tuple);
                        BOOST_TEST((!ec || ec == error::unavailable), ec.message());
                    }
                });
            co_await at.move_slot(4);
            auto const before = visits;
            BOOST_TEST(co_await eventually([&] { return visits > before + 12; }));
            ended = true;
            co_await all.join(20s);
            std::int64_t const left = co_await first.available();
            BOOST_TEST(left == 3);
            for (auto* server : at.cluster.primaries())
                server->ask("DEL", at.name);
        },
        60s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
