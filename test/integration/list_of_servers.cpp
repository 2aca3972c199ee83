// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A primary and its replicas, given as a list: the client finds the one that is the primary.
#include "decide/names.hpp"
#include "integration/replicated.hpp"

#include <algorithm>
#include <string>

namespace colock::test {

namespace {

struct pair_of_servers : replicated {
    using replicated::replicated;

    /// The list, with short times; the replica comes first.
    config list(lab const& at) const
    {
        auto settings = at.settings();
        settings.topology = topology::replicated;
        settings.addresses = {
            {.host = "127.0.0.1", .port = replica.port()},
            {.host = "127.0.0.1", .port = primary.port()}};
        settings.lease = 2s;
        return settings;
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(list_of_servers)

BOOST_DATA_TEST_CASE(the_primary_is_found_in_any_order, each_server(), kind)
{
    pair_of_servers servers{kind};
    lab at{servers.primary};
    auto settings = servers.list(at);
    for (int i = 0; i != 2; ++i) {
        auto& redis = at.connect(settings);
        at.run([&]() -> asio::awaitable<void> {
            lock const mine{redis.client, unique_name("listed")};
            auto held = co_await mine.acquire();
            BOOST_TEST(exists(servers.primary, mine.name()));
            co_await held.release();
        });
        BOOST_TEST(redis.log->count("is a replica") == 0U, redis.log->all());
        std::ranges::reverse(settings.addresses);
    }
}

// The link for messages never writes, so the old primary refuses it nothing.
BOOST_DATA_TEST_CASE(messages_follow_the_primary, each_server(), kind)
{
    pair_of_servers servers{kind};
    lab at{servers.replica};
    auto settings = servers.list(at);
    settings.poll_cap = 10s;  // a waiter that hears nothing shows
    auto& redis = at.connect(settings);
    auto& other = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const before{redis.client, unique_name("before")};
        auto held = co_await before.acquire();
        tasks waiting{at.context()};
        auto const wait = [&](std::string name) {
            return [&, name = std::move(name)]() -> asio::awaitable<void> {
                auto next = co_await lock{other.client, name}.acquire();
                co_await next.release();
            };
        };
        waiting.start(wait(before.name()));
        co_await eventually([&] { return other.client.stats().waiters == 1; });
        co_await held.release();
        co_await waiting.join(5s);

        servers.replica.ask("REPLICAOF", "NO", "ONE");
        servers.primary.ask("REPLICAOF", "127.0.0.1", std::to_string(servers.replica.port()));
        lock const after{redis.client, unique_name("after")};
        held = co_await after.acquire({.lease = 20s});
        waiting.start(wait(after.name()));
        bool const listens = co_await eventually([&] {
            return is_waiting(other.client, after.name()) &&
                servers.replica.listeners(mailbox_of(other.client, after.name())) == 1;
        });
        BOOST_TEST(listens);
        co_await held.release();
        co_await waiting.join(3s);
    });
}

BOOST_DATA_TEST_CASE(without_a_primary_the_log_says_so, each_server(), kind)
{
    pair_of_servers servers{kind};
    servers.primary.ask("REPLICAOF", "127.0.0.1", std::to_string(servers.replica.port()));
    lab at{servers.replica};
    auto settings = servers.list(at);
    settings.timeout = 500ms;
    auto& redis = at.connect(settings);
    at.run_only([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("nobody")};
        auto const [ec, held] = co_await mine.try_acquire(tuple);
        BOOST_TEST((ec == error::unavailable), ec.message());
    });
    BOOST_TEST(redis.log->count("is a replica and refuses writes") != 0U, redis.log->all());
    at.destroy_context();
}

// Nothing but renewals goes to it, and these are refused one by one inside of their call.
BOOST_DATA_TEST_CASE(a_holder_leaves_a_primary_that_becomes_a_replica, each_server(), kind)
{
    pair_of_servers servers{kind};
    lab at{servers.replica};
    auto settings = servers.list(at);
    settings.label = "";  // else its report is refused, too
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("moves")};
        auto held = co_await mine.acquire({.sync_replicas = 1});
        servers.replica.ask("REPLICAOF", "NO", "ONE");
        servers.primary.ask("REPLICAOF", "127.0.0.1", std::to_string(servers.replica.port()));
        co_await ever([&] { return !held; }, 3s);
        BOOST_TEST(bool{held});
        BOOST_TEST(exists(servers.replica, mine.name()));
        co_await held.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
