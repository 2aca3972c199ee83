// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the network between a client and a healthy server can do.
#include "integration/suites.hpp"
#include "redis/transport.hpp"

namespace colock::test {

/// A server behind a network that can be told to misbehave.
struct far_server {
    explicit far_server(server_kind kind) : server{kind} {}

    config by_network()
    {
        auto settings = quick(server.by_port());
        settings.addresses.front().port = network.port();
        settings.links = 1;
        settings.silence_timeout = 600ms;
        return settings;
    }

    /// Returns when the server has read all that was held back until now.
    void reads_the_rest()
    {
        network.let_through();
        network.connections();  // its thread has come to this, so it has passed on the rest
        // What has come before the first of these is read before the second at the latest.
        server.ask("PING");
        server.ask("PING");
    }

    redis_server server;
    proxy network{server.port()};
};

BOOST_AUTO_TEST_SUITE(connection_faults)

BOOST_DATA_TEST_CASE(a_reply_cut_in_half, each_server(), kind)
{
    far_server far{kind};
    lab at{far.server};
    auto settings = far.by_network();
    settings.lease = 3s;
    at.run([&]() -> asio::awaitable<void> {
        owner const me;
        // In the first line, in the middle of it, in the next value, before the last byte.
        for (std::size_t const bytes : {1U, 3U, 6U}) {
            auto& c = at.connect(settings);
            lock const mine{c.client, unique_name("half")};
            auto const depth = [&] { return far.server.ask("HVALS", mine.name()).items[0].text; };
            far.network.cut_reply(mine.name(), bytes);
            hold held = co_await mine.acquire({.as = me});
            BOOST_TEST(bool{held});
            BOOST_TEST(far.server.ask("HLEN", mine.name()).number == 1);
            BOOST_TEST(depth() == "1");

            far.network.cut_reply(mine.name(), bytes);
            hold again = co_await mine.acquire({.as = me});
            BOOST_TEST(depth() == "2");
            far.network.cut_reply(mine.name(), bytes);
            auto const [half] = co_await again.release(tuple);
            BOOST_TEST(!half);
            BOOST_TEST(depth() == "1");

            far.network.cut_reply(mine.name(), bytes);
            auto const [whole] = co_await held.release(tuple);
            BOOST_TEST(!whole);  // released, though the answer that said so was lost
            BOOST_TEST(!exists(far.server, mine.name()));
            BOOST_TEST(c.client.stats().reconnects == 4U);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_late_duplicate_of_an_acquire)
{
    far_server far{server_kind::redis};
    lab at{far.server};
    auto& c = at.connect(far.by_network());
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("late")};
        // The server knows the scripts from here on.
        hold before = co_await mine.acquire();
        co_await before.release();
        co_await mine.is_locked();
        far.network.hold_back(proxy::way::both);
        // Its first acquire is stuck in the network; the second, over a new connection, succeeds.
        hold held = co_await mine.acquire();
        BOOST_TEST(far.network.seen(scripts::acquire.sha1) == 2U);
        co_await held.release();
        BOOST_TEST(!exists(far.server, mine.name()));
        auto const counter = far.server.ask("KEYS", "colock_fence:*").items.at(0).text;
        auto const drawn = far.server.ask("GET", counter).text;
        far.reads_the_rest();
        BOOST_TEST(!exists(far.server, mine.name()));
        BOOST_TEST(far.server.ask("GET", counter).text == drawn);  // the late one took no token
    });
}

BOOST_AUTO_TEST_CASE(a_late_duplicate_although_the_kill_was_lost)
{
    far_server far{server_kind::redis};
    lab at{far.server};
    auto& c = at.connect(far.by_network());
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("late-kill")};
        co_await mine.is_locked();
        far.network.cut_request("KILL");
        far.network.hold_back(proxy::way::both);
        hold held = co_await mine.acquire();
        co_await held.release();
        BOOST_TEST(far.network.seen("KILL") == 2U);
        far.reads_the_rest();
        BOOST_TEST(!exists(far.server, mine.name()));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
