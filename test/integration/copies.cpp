// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks that copies must have: what can never be had, renewals, and releases that replicas lack.
#include "family/kinds.hpp"
#include "integration/replicated.hpp"
#include "support/redis_cluster.hpp"
#include "support/sentinel_group.hpp"
#include <colock/countdown_latch.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/semaphore.hpp>

#include <string>

namespace colock::test {

namespace {

config with_copies(lab const& at, durability how)
{
    auto settings = at.settings();
    settings.lease = 2s;
    settings.sync_timeout = 300ms;
    settings.durability = how;
    return settings;
}

bool has_waitaof(redis_server& server)
{
    return server.ask("WAITAOF", "0", "0", "0").what != decide::reply::kind::error;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(copies_of_locks)

BOOST_DATA_TEST_CASE(what_can_never_be_had_is_an_error_before_the_first_lock, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto& redis = at.connect(with_copies(at, durability::majority));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("alone")};
        stopwatch const watch;
        auto const [ec, held] = co_await mine.acquire(tuple);
        BOOST_TEST((ec == error::unsupported), ec.message());
        BOOST_TEST(watch.ms() < 1'000);
        BOOST_TEST(!exists(server, mine.name()));
        acquire_options const two{.sync_replicas = 2};
        auto const [why, none] = co_await mine.try_acquire(two, tuple);
        BOOST_TEST((why == error::unsupported), why.message());
        // Nothing else stops.
        acquire_options const plain{.durability = durability::none};
        auto other = co_await mine.acquire(plain);
        BOOST_TEST(bool{other});
        co_await other.release();
    });
    BOOST_TEST(redis.log->count("1 replica has to acknowledge") != 0U, redis.log->all());
    BOOST_TEST(redis.log->count("config::replicas") != 0U, redis.log->all());
}

BOOST_DATA_TEST_CASE(known_replicas_that_are_away_are_no_such_error, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(with_copies(at, durability::majority));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("away")};
        auto held = co_await mine.acquire();
        BOOST_TEST(held.replicas() == 1U);
        co_await held.release();
        servers.replica.kill();
        co_await eventually([&] {
            return servers.primary.info("replication", "connected_slaves:") == 0;
        });
        auto const [ec, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST((ec == error::not_replicated), ec.message());
    });
}

BOOST_DATA_TEST_CASE(the_disk_is_asked_where_there_is_one, each_server(), kind)
{
    redis_server server{kind, {"appendonly no"}};
    lab at{server};
    bool const is_known = has_waitaof(server);
    auto& redis = at.connect(with_copies(at, durability::disk));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("disk")};
        auto const [ec, none] = co_await mine.acquire(tuple);
        BOOST_TEST((ec == error::unsupported), ec.message());
    });
    BOOST_TEST(redis.log->count(is_known ? "appendonly yes" : "Redis 7.2") != 0U, redis.log->all());
    if (!is_known)
        return;
    server.ask("CONFIG", "SET", "appendonly", "yes");
    server.ask("CONFIG", "SET", "appendfsync", "always");
    auto& later = at.connect(with_copies(at, durability::disk));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{later.client, unique_name("disk")};
        auto held = co_await mine.acquire();
        BOOST_TEST(held.replicas() == 0U);
        co_await held.release();
    });
}

BOOST_DATA_TEST_CASE(renewals_that_replicas_lack_end_the_hold_in_time, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(with_copies(at, durability::all));
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{redis.client, unique_name("strict")}.acquire();
        acquire_options const plain{.durability = durability::none};
        hold beside = co_await lock{redis.client, unique_name("plain")}.acquire(plain);
        auto const first = held.valid_until();
        bool const is_renewed = co_await eventually([&] { return held.valid_until() > first; });
        BOOST_TEST(is_renewed);
        servers.replica.pause();
        auto const until = held.valid_until();
        bool const is_lost = co_await eventually([&] { return !held; });
        BOOST_TEST(is_lost);
        BOOST_TEST((hold::clock::now() < until));
        BOOST_TEST(bool{beside});
        servers.replica.resume();
        co_await beside.release();
    });
    BOOST_TEST(redis.log->count("too few copies have its renewal") != 0U, redis.log->all());
}

// The primary dies with it; the one that is the primary then still has the lock.
BOOST_DATA_TEST_CASE(a_release_that_replicas_lack_is_sent_to_the_next_primary, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.replica};
    auto settings = with_copies(at, durability::majority);
    settings.lease = 20s;
    settings.connect_timeout = settings.silence_timeout.emplace(500ms);
    settings.topology = topology::replicated;
    settings.addresses = {
        {.host = "127.0.0.1", .port = servers.replica.port()},
        {.host = "127.0.0.1", .port = servers.primary.port()}};
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("owed")};
        hold held = co_await mine.acquire();
        BOOST_TEST(exists(servers.replica, mine.name()));
        servers.replica.ask("REPLICAOF", "NO", "ONE");
        stopwatch const watch;
        co_await held.release();
        BOOST_TEST(watch.ms() < 250);
        BOOST_TEST(!exists(servers.primary, mine.name()));
        BOOST_TEST(exists(servers.replica, mine.name()));
        BOOST_TEST(redis.client.stats().owed_copies == 1U);
        servers.primary.kill();
        bool const is_free =
            co_await eventually([&] { return !exists(servers.replica, mine.name()); });
        BOOST_TEST(is_free);
        BOOST_TEST(redis.client.stats().owed_copies == 1U);  // the next primary has no replica yet
        servers.primary.start();
        servers.primary.ask("REPLICAOF", "127.0.0.1", std::to_string(servers.replica.port()));
        bool const is_covered =
            co_await eventually([&] { return redis.client.stats().owed_copies == 0; }, 10s);
        BOOST_TEST(is_covered);
    });
}

BOOST_DATA_TEST_CASE(what_is_owed_is_covered_soon_without_another_step, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(with_copies(at, durability::all));
    at.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i != 20; ++i) {
            hold held = co_await lock{redis.client, unique_name("soon")}.acquire();
            co_await held.release();
        }
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().owed_copies == 0; }));
        servers.replica.pause();
        semaphore const pool{redis.client, unique_name("pool"), 1};
        auto const [ec, got] = co_await pool.try_acquire(1, tuple);
        BOOST_TEST((ec == error::not_replicated), ec.message());
        servers.replica.resume();
        co_await pool.acquire();
        co_await pool.release();
        permit_semaphore const ids{redis.client, unique_name("ids"), 1};
        auto one = co_await ids.acquire();
        co_await one.release();
        countdown_latch const gate{redis.client, unique_name("gate")};
        BOOST_TEST(co_await gate.try_set_count(1));
        co_await gate.count_down();
        co_await gate.wait();
        servers.primary.ask("DEL", pool.name());
        co_await ids.remove();
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().owed_copies == 0; }));
    });
}

// The map tells of the replicas of each primary, and that of a new one has as many.
BOOST_DATA_TEST_CASE(in_a_cluster_each_primary_has_its_own, each_server(), kind)
{
    redis_cluster cluster{kind, 3, 1};
    lab at{cluster};
    auto& redis = at.connect(with_copies(at, durability::all));
    at.run([&]() -> asio::awaitable<void> {
        for (char const* name : {"a", "b", "c", "d"}) {
            auto held = co_await lock{redis.client, unique_name(name)}.acquire();
            BOOST_TEST(held.replicas() == 1U);
            co_await held.release();
        }
        acquire_options const two{.sync_replicas = 2};
        auto const [ec, none] =
            co_await lock{redis.client, unique_name("a")}.try_acquire(two, tuple);
        BOOST_TEST((ec == error::unsupported), ec.message());
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().owed_copies == 0; }));
    });
}

// A client that starts meanwhile sees one.
BOOST_DATA_TEST_CASE(sentinels_tell_of_replicas_that_are_away, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto& redis = at.connect(with_copies(at, durability::all));
    at.run([&]() -> asio::awaitable<void> {
        auto const primary = group.current_primary();
        group.server((primary + 1) % sentinel_group::servers).kill();
        co_await eventually([&] {
            return group.server(primary).info("replication", "connected_slaves:") == 1;
        });
        lock const mine{redis.client, "away"};
        auto const [ec, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST((ec == error::not_replicated), ec.message());
        acquire_options const fewer{.durability = durability::majority};
        auto held = co_await mine.acquire(fewer);
        BOOST_TEST(held.replicas() == 1U);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
