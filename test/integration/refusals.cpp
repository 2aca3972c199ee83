// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a server may refuse: a user, a command, a channel, for a while or for good.
#include "integration/suites.hpp"
#include "support/patience.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_DATA_TEST_CASE(wrong_password, each_server(), kind)
{
    redis_server server{kind, {"user app on >right ~* &* +@all"}};
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.username = "app";
    settings.password = "wrong-secret";
    auto& c = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("password")};
        for (int i = 0; i != 2; ++i) {
            auto const [acquired, none] = co_await mine.acquire(tuple);
            BOOST_TEST(acquired == error::server_refused);
            stopwatch const watch;
            auto const [tried, nothing] = co_await mine.try_acquire_for(10s, tuple);
            BOOST_TEST(tried == error::server_refused);
            BOOST_TEST(watch.ms() < 10'000);
        }
        BOOST_TEST(c.log->count("WRONGPASS") > 0U);
        BOOST_TEST(c.log->count("wrong-secret") == 0U);
        // A remedy on the server's side is enough.
        server.ask("ACL", "SETUSER", "app", ">wrong-secret");
        bool in = false;
        for (stopwatch const watch; !in && watch.ms() < 3'000;) {
            auto const [ec, held] = co_await mine.try_acquire_for(20ms, tuple);
            in = !ec && held;
        }
        BOOST_TEST(in);
    });
}

// A server that refuses to look does not say that the lock is gone.
BOOST_DATA_TEST_CASE(a_look_that_is_refused_is_no_loss, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto settings = at.settings();
    settings.lease = 3s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("looks")};
        hold held = co_await mine.acquire();
        server.ask("ACL", "SETUSER", "default", "-hexists");
        BOOST_TEST(co_await eventually([&] { return c.log->count("refuses script renew") != 0; }));
        BOOST_TEST(bool{held});
        auto const until = held.valid_until();
        server.ask("ACL", "SETUSER", "default", "+hexists");
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
        co_await held.release();
    });
}

BOOST_DATA_TEST_CASE(script_load_is_not_needed, each_server(), kind)
{
    redis_server server{kind, {"user app on >pw ~* &* +@all -script"}};
    lab at{server};
    auto settings = quick(server.by_socket());
    settings.username = "app";
    settings.password = "pw";
    settings.links = 1;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("no-load")};
        hold held = co_await mine.acquire();
        auto const until = held.valid_until();
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
        co_await held.release();
        BOOST_TEST(c.log->count("Remedy") == 0U, c.log->all());
        hold again = co_await mine.acquire();
        co_await again.release();
        BOOST_TEST(server.script_calls() >= 2);  // by their sums
    });
}

BOOST_DATA_TEST_CASE(subscribe_refused, each_server(), kind)
{
    auto const refused = unique_name("refused"), allowed = unique_name("allowed");
    redis_server server{
        kind, {"user app on >pw ~* resetchannels &redisson_lock__channel:{" + allowed + "} +@all"}};
    lab at{server};
    auto& a = at.connect();
    auto settings = quick(server.by_socket());
    settings.username = "app";
    settings.password = "pw";
    settings.poll_cap = 3s;
    auto& b = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        hold one = co_await lock{a.client, refused}.acquire();
        hold other = co_await lock{a.client, allowed}.acquire();
        hold one_next, other_next;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            one_next = co_await lock{b.client, refused}.acquire();
        });
        all.start([&]() -> asio::awaitable<void> {
            other_next = co_await lock{b.client, allowed}.acquire();
        });
        auto const channel = "redisson_lock__channel:{" + allowed + "}";
        BOOST_TEST(co_await eventually([&] {
            return server.listeners(channel) == 1 &&
                b.log->count("subscribe to redisson_lock__channel:{" + refused) != 0;
        }));
        co_await other.release();
        BOOST_TEST(co_await eventually([&] { return bool{other_next}; }, 2s));
        co_await one.release();
        co_await all.join(8s);  // by a poll
        BOOST_TEST(bool{one_next});
        // The user may not publish there either: the release itself succeeds.
        auto const [released] = co_await one_next.release(tuple);
        BOOST_TEST(!released);
        BOOST_TEST(!exists(server, refused));
    });
}

// They are repeated until the server takes them, and the log is not flooded by that.
BOOST_DATA_TEST_CASE(releases_that_lack_replicas, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        std::vector<hold> all;
        for (int i = 0; i != 500; ++i)
            all.push_back(co_await lock{c.client, unique_name("owed")}.acquire());
        server.ask("CONFIG", "SET", "min-replicas-to-write", "1");
        all.clear();
        co_await time_passes(3s);
        BOOST_TEST(c.client.stats().owed_releases == 500U);
        BOOST_TEST(c.log->count("NOREPLICAS") >= 2U, c.log->all());
        BOOST_TEST(c.log->count("NOREPLICAS") <= 3U, c.log->all());
        server.ask("CONFIG", "SET", "min-replicas-to-write", "0");
        BOOST_TEST(co_await eventually([&] { return c.client.stats().owed_releases == 0; }));
    });
}

BOOST_AUTO_TEST_CASE(out_of_memory)
{
    redis_server server;
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{c.client, unique_name("held")}.acquire();
        server.ask("CONFIG", "SET", "maxmemory", "1");
        lock const other{c.client, unique_name("full")};
        auto const [refused, none] = co_await other.acquire(tuple);
        BOOST_TEST(refused == error::server_refused);
        BOOST_TEST(c.log->count("OOM") > 0U);
        BOOST_TEST(!exists(server, other.name()));
        auto const [released] = co_await held.release(tuple);  // that needs none
        BOOST_TEST(!released);
        // What counts needs some, and waits for it.
        semaphore const gives{c.client, unique_name("semaphore")};
        auto const [unheard] = co_await gives.release(2, tuple);
        BOOST_TEST(unheard == error::server_refused);
        BOOST_TEST((unheard == condition::retryable));
        server.ask("CONFIG", "SET", "maxmemory", "0");
        BOOST_TEST(co_await eventually([&] { return c.client.stats().owed_releases == 0; }));
        BOOST_TEST(co_await gives.available() == 2);
        BOOST_TEST(co_await gives.drain() == 2);
        server.ask("DEL", gives.name());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// A server that has no room for another connection: that passes, so nobody is refused for good.

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
        BOOST_TEST(co_await eventually([&] { return full_one.rejected() >= 3; }));
        BOOST_TEST(redis.client.stats().waiters == 1U);
        BOOST_TEST(redis.log->count(full) != 0U, redis.log->all());
        full_one.make_room();
        co_await waiting.join(within(3s));
        BOOST_TEST(bool{held});
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
