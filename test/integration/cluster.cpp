// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// Locks on a cluster: which node a step goes to, what a slot that moves does to those who hold and
// wait, and what it costs.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/redis_cluster.hpp"
#include <colock/acquire_many.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// A lock, where it is, and a node where it is not.
struct placed_lock {
    placed_lock(redis_cluster& where, std::string_view about)
        : cluster{where}
        , name{unique_name(about)}
        , slot{where.slot_of(name)}
        , home{where.primary_of(slot)}
    {
        for (auto* primary : where.primaries())
            if (primary != &where.node(home))
                other = index_of(primary);
    }
    ~placed_lock()
    {
        if (cluster.primary_of(slot) != home)
            cluster.migrate(slot, home);
    }

    std::size_t index_of(redis_server const* server) const
    {
        std::size_t i = 0;
        while (&cluster.node(i) != server)
            ++i;
        return i;
    }

    redis_cluster& cluster;
    std::string name;
    unsigned slot;
    std::size_t home;
    std::size_t other = 0;
};

/// How often nodes have sent somebody elsewhere.
inline std::int64_t redirections(redis_cluster& cluster)
{
    std::int64_t sum = 0;
    for (auto* primary : cluster.primaries())
        sum += primary->info("errorstats", "errorstat_MOVED:count=");
    return sum;
}

inline std::int64_t script_calls(redis_cluster& cluster)
{
    std::int64_t sum = 0;
    for (auto* primary : cluster.primaries())
        sum += primary->script_calls();
    return sum;
}

BOOST_AUTO_TEST_SUITE(cluster)

// Also if the names of several slots are mixed.
BOOST_DATA_TEST_CASE(many_names_of_a_slot_are_one_call, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    auto const about = unique_name("many");
    lab at{cluster};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        std::vector<std::string> names;
        for (int i = 0; i != 400; ++i)
            names.push_back('{' + about + std::to_string(i % 4) + '}' + std::to_string(i));
        // The servers learn the scripts by the first time.
        held_locks all = co_await acquire_many(redis.client, names);
        co_await all.release();
        auto const before = script_calls(cluster);
        all = co_await acquire_many(redis.client, names);
        BOOST_TEST(all.held() == names.size());
        BOOST_TEST(script_calls(cluster) - before == 4);
        co_await all.release();
        BOOST_TEST(script_calls(cluster) - before == 8);
    });
}

BOOST_DATA_TEST_CASE(a_slot_that_has_moved_costs_one_more_call, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    placed_lock const of{cluster, "moved"};
    lab at{cluster};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, of.name};
        hold held = co_await mine.acquire();
        co_await held.release();
        cluster.migrate(of.slot, of.other);
        auto const before = redirections(cluster);
        // `placed_lock` brings it back at the end.
        for (int i = 0; i != 20; ++i) {
            hold again = co_await mine.acquire();
            BOOST_TEST(again.fencing_token() > held.fencing_token());
            co_await again.release();
            held = std::move(again);
        }
        BOOST_TEST(redirections(cluster) - before == 1);
    });
}

BOOST_DATA_TEST_CASE(a_hold_lives_through_the_move_of_its_slot, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    placed_lock const of{cluster, "held"};
    lab at{cluster};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, of.name};
        hold held = co_await mine.acquire();
        cluster.begin_migration(of.slot, of.other);
        // Half of the keys are there, half are here: the lock, then its counter, for 3 leases.
        BOOST_TEST(cluster.move_key(of.name, of.other));
        auto const renewed = [&] { return held.valid_until(); };
        auto const before = renewed();
        BOOST_TEST(co_await eventually([&] { return renewed() > before + 500ms; }));
        BOOST_TEST(bool{held});
        auto const none = co_await mine.try_acquire(tuple);
        BOOST_TEST(!std::get<1>(none).has_value());
        co_await held.release();
        cluster.move_keys(of.slot, of.other);
        cluster.end_migration(of.slot, of.other);
        hold next = co_await mine.acquire();
        co_await next.release();
    });
}

BOOST_DATA_TEST_CASE(an_acquire_waits_for_the_end_of_the_move, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    placed_lock const of{cluster, "standstill"};
    lab at{cluster};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, of.name};
        hold before = co_await mine.acquire();  // its counter is there
        co_await before.release();
        cluster.begin_migration(of.slot, of.other);
        tasks waiting{at.context()};
        bool got = false;
        waiting.start([&]() -> asio::awaitable<void> {
            hold held = co_await mine.acquire();
            got = true;
            co_await held.release();
        });
        // The lock is nowhere, its counter is here: neither node can run the script.
        auto [ec, none] = co_await mine.try_acquire_for(300ms, tuple);
        BOOST_TEST((ec == error::unavailable));
        BOOST_TEST(!none.has_value());
        BOOST_TEST(!got);
        cluster.move_keys(of.slot, of.other);
        cluster.end_migration(of.slot, of.other);
        stopwatch const since;
        co_await waiting.join(5s);
        BOOST_TEST(since.ms() < within(1'000));
    });
}

BOOST_DATA_TEST_CASE(who_waits_hears_of_a_release_at_the_new_node, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    placed_lock const of{cluster, "subscribed"};
    lab at{cluster};
    auto& mine = at.connect();
    auto& other = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const here{mine.client, of.name};
        lock const there{other.client, of.name};
        hold held = co_await here.acquire({.lease = 20s});
        tasks waiting{at.context()};
        stopwatch since;
        std::int64_t woken_after = -1;
        waiting.start([&]() -> asio::awaitable<void> {
            hold next = co_await there.acquire();
            woken_after = since.ms();
            co_await next.release();
        });
        co_await eventually([&] { return is_waiting(other.client, of.name); });
        cluster.migrate(of.slot, of.other);
        bool const moved = co_await eventually([&] {
            return cluster.node(of.other).listeners(mailbox_of(other.client, of.name), "SHARD") ==
                1;
        });
        BOOST_TEST(moved);
        since = {};
        co_await held.release();
        co_await waiting.join(10s);
        BOOST_TEST(woken_after < within(1'000));
    });
}

// Valkey has them from version 9 on.
BOOST_DATA_TEST_CASE(numbered_databases, each_server(), kind)
{
    bool const has_them =
        !redis_server{kind}.ask("CONFIG", "GET", "cluster-databases").items.empty();
    std::vector<std::string> lines;
    if (has_them)
        lines.emplace_back("cluster-databases 4");
    redis_cluster cluster{kind, 3, 0, std::move(lines)};
    lab at{cluster};
    auto settings = at.settings();
    auto& zero = at.connect(settings);
    settings.database = 3;
    auto& three = at.connect(settings);
    auto& beside = at.connect(settings);
    settings.database = 4;
    auto& none = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("numbered");
        auto const refused = co_await lock{none.client, name}.try_acquire(tuple);
        BOOST_TEST((std::get<0>(refused) == error::server_refused));
        if (!has_them) {
            auto const same = co_await lock{three.client, name}.try_acquire(tuple);
            BOOST_TEST((std::get<0>(same) == error::server_refused));
            co_return;
        }
        hold held = co_await lock{three.client, name}.acquire();
        hold other = co_await lock{zero.client, name}.acquire();  // another database
        auto const taken = co_await lock{beside.client, name}.try_acquire();
        BOOST_TEST(!taken.has_value());
        tasks waiting{at.context()};
        stopwatch since;
        std::int64_t woken_after = -1;
        waiting.start([&]() -> asio::awaitable<void> {
            hold next = co_await lock{beside.client, name}.acquire();
            woken_after = since.ms();
            co_await next.release();
        });
        co_await eventually([&] { return is_waiting(beside.client, name); });
        // A connection that is made anew selects the database, too.
        for (std::size_t i = 0; i != cluster.size(); ++i)
            cluster.node(i).ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        co_await eventually([&] { return is_waiting(beside.client, name); });
        auto const before = held.valid_until();
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > before; }));
        since = {};
        co_await held.release();
        co_await waiting.join(10s);
        BOOST_TEST(woken_after < within(1'000));
        co_await other.release();
    });
}

// Who publishes both ways wakes peers of either habit, and hears them.
BOOST_DATA_TEST_CASE(ways_to_publish, each_server(), kind)
{
    using enum publishing;
    auto& cluster = shared_cluster(kind);
    for (auto const& [waits, holds] :
         {std::pair{plain, plain},
          {sharded, automatic},
          {both, plain},
          {plain, both},
          {both, both},
          {both, automatic}}) {
        lab at{cluster};
        auto settings = at.settings();
        settings.publish = holds;
        auto& holder = at.connect(settings);
        settings.publish = waits;
        auto& other = at.connect(settings);
        at.run([&]() -> asio::awaitable<void> {
            auto const name = unique_name("published");
            lock const here{holder.client, name};
            lock const there{other.client, name};
            for (int i = 0; i != 3; ++i) {
                hold held = co_await here.acquire({.lease = 10s});
                tasks waiting{at.context()};
                stopwatch since;
                waiting.start([&]() -> asio::awaitable<void> {
                    hold next = co_await there.acquire();
                    co_await next.release();
                });
                co_await eventually([&] { return is_waiting(other.client, name); });
                since = {};
                co_await held.release();
                co_await waiting.join(8s);
                BOOST_TEST(since.ms() < within(1'000));
            }
        });
    }
}

BOOST_DATA_TEST_CASE(the_wrong_kind_of_url_is_said_at_once, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    lab at{cluster};
    auto settings = quick(cluster.node(0).by_port());
    auto& alone = at.connect(settings);
    settings = quick(shared_server(kind).by_port());
    settings.topology = topology::cluster;
    auto& together = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        for (auto* redis : {&alone, &together}) {
            stopwatch const since;
            lock const any{redis->client, unique_name("any")};
            auto [ec, none] = co_await any.acquire(tuple);
            BOOST_TEST((ec == error::wrong_topology), ec.message());
            BOOST_TEST(since.ms() < within(1'000));
        }
        BOOST_TEST(alone.log->count("Remedy: redis+cluster://") != 0U, alone.log->all());
        BOOST_TEST(together.log->count("Remedy: redis://") != 0U, together.log->all());
    });
}

BOOST_DATA_TEST_CASE(without_any_node_it_is_the_link_that_is_named, each_server(), kind)
{
    auto& cluster = shared_cluster(kind);
    lab at{cluster};
    auto settings = at.settings();
    settings.addresses = {{.host = "127.0.0.1", .port = 1}};
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("nowhere")};
        auto [ec, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST((ec && ec != error::closed), ec.message());
        BOOST_TEST(redis.log->count("127.0.0.1:1") != 0U, redis.log->all());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
