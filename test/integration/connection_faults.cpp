// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the network between a client and a healthy server can do.
#include "integration/suites.hpp"
#include "redis/transport.hpp"
#include "support/patience.hpp"

#include <array>

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

BOOST_AUTO_TEST_CASE(a_renewal_cut_in_half)
{
    far_server far{server_kind::redis};
    lab at{far.server};
    auto& c = at.connect(far.by_network());
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("half");
        hold held = co_await lock{c.client, name}.acquire();
        for (int i = 0; i != 3; ++i) {
            auto const until = held.valid_until();
            far.network.cut_reply(name, 2);
            bool const renewed = co_await eventually([&] { return held.valid_until() > until; });
            BOOST_TEST(renewed);
        }
        BOOST_TEST(bool{held});
    });
}

BOOST_DATA_TEST_CASE(a_request_that_never_arrives, each_server(), kind)
{
    far_server far{kind};
    lab at{far.server};
    auto settings = far.by_network();
    settings.lease = 3s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("request")};
        far.network.cut_request(mine.name());
        hold held = co_await mine.acquire();
        far.network.cut_request(mine.name());
        auto const [released] = co_await held.release(tuple);
        BOOST_TEST(!released);
        BOOST_TEST(!exists(far.server, mine.name()));
    });
}

BOOST_DATA_TEST_CASE(a_pubsub_link_whose_peer_is_silent, each_server(), kind)
{
    far_server far{kind};
    lab at{far.server};
    auto slow = quick(far.server.by_socket());  // not over this network
    slow.lease = 10s;                           // whose end nobody waits for
    auto& a = at.connect(slow);
    auto& b = at.connect(far.by_network());
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("silent");
        hold first = co_await lock{a.client, name}.acquire();
        hold second;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> {
            second = co_await lock{b.client, name}.acquire();
        });
        // It has asked again after the subscription, and now only a message can wake it.
        co_await eventually([&] { return far.server.script_calls() == 1; });
        auto const made = far.network.connections();
        far.network.hold_back(proxy::way::both, proxy::link::push);
        stopwatch const watch;
        co_await first.release();  // whose message b does not get
        co_await all.join(4s);
        BOOST_TEST(bool{second});
        BOOST_TEST(watch.ms() < within(2'000));
        BOOST_TEST(far.network.connections() == made + 1);
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
        far.reads_the_rest();
        BOOST_TEST(!exists(far.server, mine.name()));
        hold const next = co_await mine.acquire();
        BOOST_TEST(next.fencing_token() == held.fencing_token() + 1);  // none in between
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

BOOST_DATA_TEST_CASE(cut_again_and_again, each_server(), kind)
{
    far_server far{kind};
    lab at{far.server};
    auto settings = far.by_network();
    settings.lease = 3s;
    std::array clients{&at.connect(settings), &at.connect(settings)};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("cuts");
        section critical;
        tasks all{at.context()};
        std::uint64_t last_token = 0;
        for (auto* c : clients)
            for (int i = 0; i != 3; ++i)
                all.start([&, c]() -> asio::awaitable<void> {
                    for (int n = 0; n != 10; ++n) {
                        hold held = co_await lock{c->client, name}.acquire();
                        BOOST_TEST(held.fencing_token() > last_token);
                        last_token = held.fencing_token();
                        co_await critical.stay(1ms);
                        auto const [ec] = co_await held.release(tuple);
                        BOOST_TEST(!ec, ec.message());
                    }
                });
        auto cut = [&]() -> asio::awaitable<void> {
            asio::steady_timer pause{at.context()};
            for (int i = 0; i != 6; ++i) {
                pause.expires_after(25ms);
                co_await pause.async_wait(asio::deferred);
                far.network.cut();
            }
        };
        all.start(cut);
        co_await all.join(15s);
        BOOST_TEST(critical.visits() == 60);
    });
}

BOOST_AUTO_TEST_CASE(a_release_that_nobody_answers)
{
    far_server far{server_kind::redis};
    lab at{far.server};
    auto settings = far.by_network();
    settings.lease = 600ms;
    settings.timeout = 5s;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("unanswered")};
        hold held = co_await mine.acquire({.lease = 150ms});  // over before the link is
        far.network.hold_back_all(proxy::way::to_client);
        stopwatch const watch;
        auto const [ec] = co_await held.release(tuple);
        // Nobody has cancelled it.
        BOOST_TEST(ec != asio::error::operation_aborted);
        BOOST_TEST(bool{ec}, ec.message());
        BOOST_TEST(watch.ms() < within(1'500));
        far.network.let_through();
    });
}

BOOST_AUTO_TEST_CASE(a_re_entry_that_nobody_answers)
{
    far_server far{server_kind::redis};
    lab at{far.server};
    auto settings = far.by_network();
    settings.lease = 10s;
    settings.timeout = 300ms;
    auto& c = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("unanswered")};
        owner const me;
        hold held = co_await mine.acquire({.as = me});
        far.network.hold_back_all(proxy::way::both);
        auto const none = co_await mine.try_acquire_for(100ms, {.as = me});
        BOOST_TEST(!none.has_value());
        auto const [tried, nothing] = co_await mine.try_acquire({.as = me}, tuple);
        BOOST_TEST(bool{tried});
        far.network.let_through();
        co_await eventually([&] {
            return far.server.ask("HVALS", mine.name()).items[0].text == "1";
        });
        BOOST_TEST(bool{held});
        auto const count = co_await mine.hold_count(me);
        BOOST_TEST(count == 1);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
