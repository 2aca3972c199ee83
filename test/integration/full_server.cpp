// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A server that has no room for another connection: that passes, so nobody is refused for good.
#include "integration/suites.hpp"
#include "support/patience.hpp"

namespace colock::test {

/// A server with room for the tests' own connection alone.
struct full_server {
    explicit full_server(server_kind kind) : server{kind} { fill(); }

    void fill()
    {
        server.ask("CONFIG", "SET", "maxclients", "1");
        server.ask("CLIENT", "KILL", "TYPE", "normal");
        server.ask("CLIENT", "KILL", "TYPE", "pubsub");
    }
    void make_room() { server.ask("CONFIG", "SET", "maxclients", "100"); }

    std::int64_t rejected() { return server.info("stats", "rejected_connections:"); }

    redis_server server;
};

inline constexpr std::string_view full = "max number of clients reached";

BOOST_AUTO_TEST_SUITE(full_server_is_not_a_refusal)

BOOST_DATA_TEST_CASE(an_acquire_waits_for_room, each_server(), kind)
{
    full_server full_one{kind};
    lab at{full_one.server};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("room")};
        hold held;
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        bool const tried = co_await eventually([&] { return full_one.rejected() >= 3; });
        BOOST_TEST(tried);
        BOOST_TEST(redis.client.stats().waiters == 1U);
        BOOST_TEST(redis.log->count(full) != 0U, redis.log->all());
        full_one.make_room();
        co_await waiting.join(within(3s));
        BOOST_TEST(bool{held});
    });
}

BOOST_DATA_TEST_CASE(limited_waits_end_without_a_refusal, each_server(), kind)
{
    full_server full_one{kind};
    lab at{full_one.server};
    auto& redis = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("limited")};
        for (int i = 0; i != 3; ++i) {
            auto const [ec, none] = co_await mine.try_acquire_for(300ms, tuple);
            BOOST_TEST((!ec || ec == error::unavailable), ec.message());
            BOOST_TEST(!none.has_value());
        }
        auto const [tried, nothing] = co_await mine.try_acquire(tuple);
        BOOST_TEST((tried && tried != error::server_refused), tried.message());
        auto const [asked, locked] = co_await mine.is_locked(tuple);
        BOOST_TEST((asked && asked != error::server_refused), asked.message());
        BOOST_TEST(redis.log->count(full) != 0U, redis.log->all());
    });
}

BOOST_DATA_TEST_CASE(waiters_stay_when_reconnects_find_no_room, each_server(), kind)
{
    full_server full_one{kind};
    full_one.make_room();
    lab at{full_one.server};
    auto settings = at.settings();
    settings.poll_cap = 100ms;  // so that each waiter asks while the server is full
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto& server = full_one.server;
        lock const mine{redis.client, unique_name("waits")};
        server.ask("HSET", mine.name(), "11111111-2222-3333-4444-555555555555:1", "1");
        hold held;
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        bool const waits =
            co_await eventually([&] { return redis.client.stats().subscriptions == 1; });
        BOOST_TEST(waits);
        auto const before = full_one.rejected();
        full_one.fill();
        server.ask("DEL", mine.name());
        bool const tried = co_await eventually([&] { return full_one.rejected() >= before + 5; });
        BOOST_TEST(tried);
        BOOST_TEST(redis.client.stats().waiters == 1U);
        full_one.make_room();
        co_await waiting.join(within(3s));
        BOOST_TEST(bool{held});
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
