// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks on the primary that Sentinels name.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/ports.hpp"
#include "support/scripted_server.hpp"
#include "support/sentinel_group.hpp"

#include <array>
#include <string>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(sentinel)

BOOST_DATA_TEST_CASE(a_failover_is_followed, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto settings = at.settings();
    settings.lease = 10s;
    auto& holder = at.connect(settings);
    auto& other = at.connect(settings);
    at.run(
        [&]() -> asio::awaitable<void> {
            lock const mine{holder.client, "followed"};
            lock const theirs{other.client, "followed"};
            hold held = co_await mine.acquire();
            auto const primary = group.current_primary();
            // The replicas have it, so it lives on.
            bool const replicated = co_await eventually([&] {
                return exists(group.server(0), "followed") && exists(group.server(1), "followed") &&
                    exists(group.server(2), "followed");
            });
            BOOST_TEST(replicated);
            tasks waiting{at.context()};
            bool got = false;
            waiting.start([&]() -> asio::awaitable<void> {
                hold next = co_await theirs.acquire();
                got = true;
                BOOST_TEST(next.fencing_token() > held.fencing_token());
                co_await next.release();
            });
            co_await eventually([&] { return is_waiting(other.client, theirs.name()); });
            auto const before = held.valid_until();
            group.kill_primary();
            auto const now = group.wait_for_failover(primary);
            stopwatch since;
            bool const again = co_await eventually([&] {
                return holder.client.stats().links_up != 0 && other.client.stats().links_up > 1;
            });
            BOOST_TEST(again);
            BOOST_TEST(since.ms() < within(1'000));
            // The new primary confirms it.
            bool const is_renewed =
                co_await eventually([&] { return held.valid_until() > before; });
            BOOST_TEST(is_renewed);
            BOOST_TEST(bool{held});
            BOOST_TEST(!got);
            BOOST_TEST(exists(group.server(now), "followed"));
            since = {};
            co_await held.release();
            co_await waiting.join(5s);
            BOOST_TEST(since.ms() < within(1'000));
        },
        60s
    );
}

BOOST_DATA_TEST_CASE(who_held_what_the_replica_has_not_is_told, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto settings = at.settings();
    settings.lease = 20s;
    auto& holder = at.connect(settings);
    at.run(
        [&]() -> asio::awaitable<void> {
            lock const mine{holder.client, "unreplicated"};
            auto const primary = group.current_primary();
            // From now on the replicas hear of nothing, and then one of them takes over.
            for (std::size_t i = 0; i != sentinel_group::servers; ++i)
                if (i != primary)
                    group.pause_replica(i);
            group.server(primary).ask("CLIENT", "KILL", "TYPE", "replica");
            hold held = co_await mine.acquire();
            auto const token = held.fencing_token();
            group.server(primary).kill();
            for (std::size_t i = 0; i != sentinel_group::servers; ++i)
                if (i != primary)
                    group.server(i).resume();
            group.server(primary).kill();
            bool lost = false;
            held.lost([&](error_code ec) { lost = !ec; });
            BOOST_TEST(co_await eventually([&] { return lost; }, 15s));
            BOOST_TEST(!held);
            auto const [ec] = co_await held.release(tuple);
            BOOST_TEST((ec == error::lost || !ec), ec.message());
            hold next = co_await mine.acquire();
            BOOST_TEST(next.fencing_token() > token);
            co_await next.release();
            group.wait_for_failover(primary);
        },
        60s
    );
}

BOOST_DATA_TEST_CASE(a_name_that_no_sentinel_knows_is_refused, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto settings = at.settings();
    settings.master_name = "nobody";
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        stopwatch const since;
        lock const any{redis.client, "any"};
        auto [ec, none] = co_await any.acquire(tuple);
        BOOST_TEST((ec == error::server_refused), ec.message());
        BOOST_TEST(since.ms() < within(2'000));
        BOOST_TEST(redis.log->count("nobody") != 0U, redis.log->all());
    });
}

BOOST_DATA_TEST_CASE(a_server_is_no_sentinel_and_a_sentinel_no_server, each_server(), kind)
{
    sentinel_group group{kind};
    lab at{group};
    auto settings = at.settings();
    settings.addresses = {{.host = "127.0.0.1", .port = group.server(0).port()}};
    auto& by_server = at.connect(settings);
    auto& by_sentinel = at.connect(quick(group.sentinel(0).by_port()));
    at.run([&]() -> asio::awaitable<void> {
        for (auto* redis : {&by_server, &by_sentinel}) {
            lock const any{redis->client, "any"};
            auto [ec, none] = co_await any.acquire(tuple);
            BOOST_TEST((ec == error::wrong_topology), ec.message());
        }
        BOOST_TEST(by_sentinel.log->count("redis+sentinel://") != 0U, by_sentinel.log->all());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// A primary that accepts connections and answers nothing: its process is stopped, or its machine is
// frozen. The Sentinels are scripted, so that the test says when they name another one.

/// A primary, its replica, and five Sentinels.
struct watched_pair {
    explicit watched_pair(server_kind kind) : first{kind, at_once}, second{kind, at_once}
    {
        second.ask("REPLICAOF", "127.0.0.1", std::to_string(first.port()));
        name(first);
    }
    void name(redis_server const& primary)
    {
        for (auto& each : sentinels)
            each.name(primary.port());
    }
    void promote_second()
    {
        second.ask("REPLICAOF", "NO", "ONE");
        name(second);
    }
    bool is_replicated(std::string const& key) { return second.ask("EXISTS", key).number == 1; }

    config by_sentinel() const
    {
        config c;
        c.topology = topology::sentinel;
        c.master_name = "main";
        c.addresses.clear();
        for (auto const& each : sentinels)
            c.addresses.push_back(each.where());
        return c;
    }
    /// The default times, four times as fast where that is safe.
    config settings() const
    {
        auto c = quick(by_sentinel());
        c.lease = 7'500ms;
        c.connect_timeout = 1s;
        c.silence_timeout = 1s;
        c.links = 1;
        return c;
    }

    /// A replica gets its copy without the usual five seconds of waiting for others.
    std::vector<std::string> const at_once{"repl-diskless-sync-delay 0"};
    redis_server first, second;
    std::array<scripted_server, 5> sentinels;
};

inline bool is_connected_to(redis_server& server)
{
    return server.ask("CLIENT", "LIST").text.find("name=colock") != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(hanging_primary)

BOOST_DATA_TEST_CASE(the_new_primary_is_reached_soon_and_holds_live, each_server(), kind)
{
    watched_pair pair{kind};
    lab at{pair.by_sentinel()};
    auto& redis = at.connect(pair.settings());
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("hangs");
        hold held = co_await lock{redis.client, name}.acquire();
        BOOST_TEST(co_await eventually([&] { return pair.is_replicated(name); }));
        // Just after a renewal, so that how much is left of the lease is no matter of chance.
        auto const before = held.valid_until();
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > before; }));
        pair.first.pause();
        stopwatch const watch;
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().links_up == 0; }));
        // It tries the one that hangs until the Sentinels have agreed.
        BOOST_TEST(co_await eventually([&] { return redis.log->count("no connection") != 0; }));
        pair.promote_second();
        bool const again = co_await eventually(
            [&] { return redis.client.stats().links_up != 0 && is_connected_to(pair.second); }, 15s
        );
        BOOST_TEST(again);
        BOOST_TEST(bool{held}, "lost; connected again " << watch.ms() << " ms after the hang");
        pair.first.resume();
        co_await held.release(tuple);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
