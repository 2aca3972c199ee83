// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A replica that stands where the only server should.
#include "integration/replicated.hpp"

#include <filesystem>

namespace colock::test {

inline std::int64_t script_loads(redis_server& server)
{
    return server.info("commandstats", "cmdstat_script|load:calls=");
}

inline std::int64_t connections(redis_server& server)
{
    return server.info("stats", "total_connections_received:");
}

// By mistake, or after a failover that nobody told the client.
BOOST_AUTO_TEST_SUITE(replica_as_single_server)

BOOST_DATA_TEST_CASE(it_is_said_once_and_costs_little, each_server(), kind)
{
    redis_server server{kind, {"replicaof 127.0.0.1 1"}};
    lab at{server};
    auto settings = at.settings();
    settings.links = 1;
    settings.lease = 10s;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("replica")};
        hold held;
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        auto const before = connections(server);
        co_await time_passes(5s);
        // Each connection loads all scripts.
        BOOST_TEST(connections(server) - before <= 10);
        BOOST_TEST(script_loads(server) <= 400);
        auto const lines = redis.log->count("");
        BOOST_TEST(lines <= 12U, lines << " lines:\n" << redis.log->all());
        BOOST_TEST(redis.log->count("READONLY") != 0U, redis.log->all());
        BOOST_TEST(redis.log->count("READONLY") <= 2U, redis.log->all());
        BOOST_TEST(redis.log->count("Remedy") != 0U, redis.log->all());
        BOOST_TEST(redis.log->count("no connection to Redis, or no answer, came up in time") == 0U);
        BOOST_TEST(!held);

        server.ask("REPLICAOF", "NO", "ONE");
        co_await waiting.join(within(3s));
        BOOST_TEST(bool{held});
    });
}

// The address leads elsewhere from now on, and a server that becomes a replica keeps its
// connections.
BOOST_DATA_TEST_CASE(messages_come_from_the_new_primary, each_server(), kind)
{
    replicated servers{kind};
    auto const floating = servers.primary.unix_socket() + ".floating";
    std::filesystem::create_symlink(servers.primary.unix_socket(), floating);
    lab at{servers.primary};
    auto settings = at.settings();
    settings.links = 1;
    settings.addresses.front() = {.unix_socket = floating};
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("floating")};
        auto const channel = "redisson_lock__channel:{" + mine.name() + "}";
        servers.primary.ask("HSET", mine.name(), "somebody:1", "1");
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            auto const [ec, held] = co_await mine.acquire(tuple);
            BOOST_TEST(!ec);
        });
        BOOST_TEST(co_await eventually([&] { return servers.primary.listeners(channel) == 1; }));

        servers.replica.ask("REPLICAOF", "NO", "ONE");
        std::filesystem::remove(floating);
        std::filesystem::create_symlink(servers.replica.unix_socket(), floating);
        servers.primary.ask("REPLICAOF", "127.0.0.1", std::to_string(servers.replica.port()));
        // This one has to write.
        auto const [ec, other] = co_await lock{redis.client, unique_name("other")}.acquire(tuple);
        BOOST_TEST(!ec);
        BOOST_TEST(co_await eventually([&] { return servers.replica.listeners(channel) == 1; }));
        servers.replica.ask("DEL", mine.name());
        servers.replica.ask("PUBLISH", channel, "0");
        co_await waiting.join(within(3s));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
