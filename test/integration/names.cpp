// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Names of servers: one that has a dead address beside a good one, and lookups that take long.
#include "integration/suites.hpp"
#include "support/host_names.hpp"
#include "support/patience.hpp"
#include "support/ports.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace colock::test {

/// The same server, by another name.
inline config by_name(redis_server const& server, std::string name)
{
    auto where = server.by_port();
    where.addresses.front().host = std::move(name);
    return where;
}

/// Takes a lock in time, and keeps it when its connection is cut and made again in that many ms.
inline asio::awaitable<void> connects_in_time(redis_server& server, client& redis, int again_ms)
{
    lock const mine{redis, unique_name("two")};
    stopwatch watch;
    auto [ec, held] = co_await mine.acquire(asio::cancel_after(8s, tuple));
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(watch.ms() < within(1'500));
    server.ask("CLIENT", "KILL", "TYPE", "normal");
    watch = {};
    BOOST_TEST(co_await eventually([&] { return redis.stats().reconnects == 1; }));
    BOOST_TEST(watch.ms() < within(again_ms));
    BOOST_TEST(bool{held});
}

BOOST_AUTO_TEST_SUITE(names_of_servers)

BOOST_DATA_TEST_CASE(the_second_address_serves_when_the_first_is_dead, each_server(), kind)
{
    redis_server server{kind};
    black_hole const dead{"127.0.0.2", server.port()};
    host_name const name{"two.test", {"127.0.0.2", "127.0.0.1"}, 0ms};
    lab at{server};
    auto settings = quick(by_name(server, "two.test"));
    settings.connect_timeout = 1s;
    settings.silence_timeout = 1s;
    settings.lease = 10s;
    settings.timeout = 5s;
    settings.links = 1;
    auto& redis = at.connect(settings);
    // A reconnect needs no more than that either.
    at.run([&] { return connects_in_time(server, redis.client, 1'500); });
}

// It accepts connections, and serves nobody: a process that is stopped, a proxy without a server.
BOOST_DATA_TEST_CASE(the_second_address_serves_when_the_first_says_nothing, each_server(), kind)
{
    redis_server server{kind};
    asio::io_context elsewhere;
    asio::ip::tcp::acceptor const silent{
        elsewhere, {asio::ip::make_address("127.0.0.2"), server.port()}};
    host_name const name{"two.test", {"127.0.0.2", "127.0.0.1"}, 0ms};
    lab at{server};
    auto settings = quick(by_name(server, "two.test"));
    settings.connect_timeout = 300ms;
    settings.timeout = 5s;
    settings.links = 1;
    auto& redis = at.connect(settings);
    // It knows then which one serves.
    at.run([&] { return connects_in_time(server, redis.client, 250); });
}

BOOST_AUTO_TEST_CASE(an_address_that_has_served_does_not_wait_for_name_servers)
{
    redis_server server;
    std::optional<host_name> name;
    name.emplace("served.test", std::vector<std::string>{"127.0.0.1"}, 0ms);
    lab at{server};
    auto settings = quick(by_name(server, "served.test"));
    settings.connect_timeout = 10s;  // which name servers have, too
    settings.lease = 20s;
    settings.links = 1;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("served")};
        hold const held = co_await mine.acquire();
        name.reset();
        name.emplace("served.test", std::vector<std::string>{}, 12s);
        server.ask("CLIENT", "KILL", "TYPE", "normal");
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().reconnects == 1; }));
        BOOST_TEST(bool{held});
    });
}

// The name server is gone, or the first address is bad: the client knows that from its first link.
BOOST_AUTO_TEST_CASE(what_one_link_knows_of_a_name_the_others_know)
{
    redis_server server;
    asio::io_context elsewhere;
    asio::ip::tcp::acceptor const silent{
        elsewhere, {asio::ip::make_address("127.0.0.2"), server.port()}};
    std::optional<host_name> name;
    name.emplace("shared.test", std::vector<std::string>{"127.0.0.2", "127.0.0.1"}, 0ms);
    for (bool const has_name : {true, false}) {
        lab at{server};
        auto settings = quick(by_name(server, "shared.test"));
        settings.connect_timeout = 1s;
        settings.timeout = 5s;
        settings.links = 1;
        auto& redis = at.connect(settings);
        at.run([&]() -> asio::awaitable<void> {
            lock const mine{redis.client, unique_name("shared")};
            server.ask("HSET", mine.name(), "somebody:1", "1");
            bool const is_taken = co_await mine.is_locked();  // over the first link
            BOOST_TEST(is_taken);
            if (!has_name) {
                name.reset();
                name.emplace("shared.test", std::vector<std::string>{}, 12s);
            }
            tasks waiting{at.context()};
            waiting.start([&]() -> asio::awaitable<void> {
                co_await mine.try_acquire_for(2s, tuple);
            });
            stopwatch const watch;
            BOOST_TEST(co_await eventually([&] { return redis.client.stats().links_up == 2; }));
            BOOST_TEST(watch.ms() < within(800));
            co_await waiting.join(within(5s));
            server.ask("DEL", mine.name());
        });
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_hangs_holds_up_nobody_else)
{
    redis_server server;
    host_name const name{"hangs.test", {}, 12s};
    lab at{server};
    auto& stuck = at.connect(quick(by_name(server, "hangs.test")));
    auto settings = quick(server.by_port());
    settings.links = 1;
    at.run([&]() -> asio::awaitable<void> {
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            co_await lock{stuck.client, unique_name("stuck")}.try_acquire_for(1s, tuple);
        });
        co_await eventually([&] { return stuck.client.stats().waiters == 1; });
        auto& well = at.connect(settings);
        lock const mine{well.client, unique_name("well")};
        auto const [ec, held] = co_await mine.acquire(asio::cancel_after(5s, tuple));
        BOOST_TEST(!ec, ec.message());
        auto const before = well.client.stats().reconnects;
        server.ask("CLIENT", "KILL", "TYPE", "normal");
        BOOST_TEST(co_await eventually([&] { return well.client.stats().reconnects > before; }));
        co_await waiting.join(5s);
    });
}

BOOST_AUTO_TEST_CASE(a_lookup_may_take_longer_than_a_connection_may)
{
    redis_server server;
    host_name const name{"slow.test", {"127.0.0.1"}, 5s};  // a dead name server before a good one
    lab at{server};
    auto settings = by_name(server, "slow.test");  // connections have 4 s
    settings.links = 1;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const [ec, held] =
            co_await lock{redis.client, unique_name("slow")}.acquire(asio::cancel_after(11s, tuple)
            );
        BOOST_TEST(!ec, ec.message() << "\n" << redis.log->all());
        BOOST_TEST(bool{held});
    });
}

BOOST_AUTO_TEST_CASE(the_end_of_a_program_waits_for_no_lookup)
{
    redis_server server;
    host_name const name{"hangs.test", {}, 4s};
    lab at{server};
    auto& redis = at.connect(quick(by_name(server, "hangs.test")));
    at.run_only([&]() -> asio::awaitable<void> {
        auto const [ec, none] =
            co_await lock{redis.client, unique_name("end")}.try_acquire_for(300ms, tuple);
        BOOST_TEST(!none.has_value());
    });
    stopwatch const watch;
    at.destroy_context();
    BOOST_TEST(watch.ms() < within(500));
}

BOOST_AUTO_TEST_CASE(a_seed_whose_name_hangs_holds_up_no_known_node)
{
    redis_server server;
    host_name const name{"hangs.test", {}, 12s};
    lab at{server};
    auto where = by_name(server, "hangs.test");
    where.addresses.push_back(server.by_port().addresses.front());
    where.topology = topology::cluster;
    auto& redis = at.connect(quick(where));
    at.run_only([&]() -> asio::awaitable<void> {
        // It is no cluster: that the second seed says so is answer enough.
        bool const asked = co_await eventually(
            [&] { return redis.log->count("cluster support disabled") != 0; }, 10s
        );
        BOOST_TEST(asked, redis.log->all());
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
