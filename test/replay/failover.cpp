// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Servers that fail, restart, forget, and replicas that lag.
#include "replay/replay.hpp"

#include <array>
#include <vector>

namespace colock::test {

/// Three servers that know nothing of each other, with a client for each.
struct three_servers {
    explicit three_servers(server_kind kind) : first{kind}, second{kind}, third{kind} {}

    red_lock over(std::array<running_client*, 3> const& clients, std::string const& name) const
    {
        std::vector<lock> parts;
        for (auto* c : clients)
            parts.emplace_back(c->client, name);
        return red_lock{parts, 300ms};
    }

    redis_server first, second, third;
};

BOOST_AUTO_TEST_SUITE(failover)

template <class Lock>
asio::awaitable<void> try_without_replica(lab& at, running_client& c, running_client& other)
{
    Lock const mine{c.client, unique_name("unreplicated")};
    auto const [ec, none] = co_await mine.try_acquire({.sync_replicas = 1}, tuple);
    BOOST_TEST((ec == error::not_replicated), ec.message());
    BOOST_TEST(!none.has_value());
    BOOST_TEST(co_await eventually([&] { return !exists(at.server(), mine.name()); }));
    for (auto* each : {&c, &other}) {
        Lock const of_each{each->client, mine.name()};
        auto held = co_await of_each.try_acquire();
        BOOST_TEST(held.has_value());
        co_await held->release();
    }
}

BOOST_DATA_TEST_CASE(a_lock_that_no_replica_has_is_kept, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto settings = at.settings();
    settings.lease = 2s;
    settings.sync_timeout = 100ms;
    settings.replicas = 1;  // which is away; without any it is an error before the first lock
    auto& c = at.connect(settings);
    auto& other = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        co_await try_without_replica<lock>(at, c, other);
        co_await try_without_replica<fenced_lock>(at, c, other);
    });
}

BOOST_DATA_TEST_CASE(a_failed_try_stays_where_no_answer_came, each_server(), kind)
{
    three_servers those{kind};
    far_lab at{those.second};
    auto settings = at.patient();
    settings.lease = 30s;
    auto long_lease = [](config of) {
        of.lease = 30s;
        return of;
    };
    std::array const clients{
        &at.connect(long_lease(quick(those.first.by_socket()))),
        &at.connect(settings),
        &at.connect(long_lease(quick(those.third.by_socket())))};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("minority");
        take_by_hand(those.third, name, 60s);
        auto const mine = those.over(clients, name);
        co_await lock{clients[1]->client, name}.is_locked();
        at.network.hold_back(proxy::way::to_client);
        auto const [ec, none] = co_await mine.try_acquire(tuple);
        BOOST_TEST(!none.has_value());
        BOOST_TEST(exists(those.second, name));  // it had been taken there
        at.network.let_through();
        bool const undone = co_await eventually([&] {
            return !exists(those.first, name) && !exists(those.second, name);
        });
        BOOST_TEST(undone);
        BOOST_TEST(those.third.ask("HEXISTS", name, "somebody:1").number == 1);
    });
}

BOOST_DATA_TEST_CASE(one_dead_server_undoes_the_lock_at_the_others, each_server(), kind)
{
    three_servers those{kind};
    lab at{those.first};
    auto of_a_second = [](redis_server& server) {
        auto settings = quick(server.by_socket());
        settings.lease = 1s;
        return settings;
    };
    std::array const clients{
        &at.connect(of_a_second(those.first)),
        &at.connect(of_a_second(those.second)),
        &at.connect(of_a_second(those.third))};
    those.third.kill();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("good");
        group_hold held = co_await those.over(clients, name).acquire();
        for (int i = 0; i != 2; ++i) {
            auto const until = held.valid_until();
            BOOST_TEST(co_await eventually([&] { return held.valid_until() > until; }));
            BOOST_TEST(exists(those.first, name));
            BOOST_TEST(exists(those.second, name));
        }
        those.third.start();
        co_await held.release();
    });
}

BOOST_DATA_TEST_CASE(servers_restarted_one_by_one_erode_the_majority, each_server(), kind)
{
    three_servers those{kind};
    lab at{those.first};
    auto const settings = [](config of, milliseconds vote_after) {
        of.lease = 30s;
        of.vote_after = vote_after;
        return of;
    };
    std::array const clients{
        &at.connect(settings(quick(those.first.by_socket()), 0ms)),
        &at.connect(settings(quick(those.second.by_socket()), 0ms)),
        &at.connect(settings(quick(those.third.by_socket()), 1h))};  // it has no vote yet
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("erosion");
        group_hold held = co_await those.over(clients, name).acquire();
        those.third.restart();
        BOOST_TEST(co_await eventually([&] { return clients[2]->client.stats().holds == 0; }));
        BOOST_TEST(bool{held});  // two of three have it
        those.second.restart();
        auto const [told] = co_await held.lost(asio::cancel_after(5s, tuple));
        BOOST_TEST(!told);  // long before the lease is over
        // What a server has lost isn't written there again by a renewal.
        BOOST_TEST(!exists(those.second, name));
        BOOST_TEST(!exists(those.third, name));
        co_await held.release(tuple);
        BOOST_TEST(co_await eventually([&] { return !exists(those.first, name); }));
    });
}

BOOST_DATA_TEST_CASE(eviction_of_a_lock_key, each_server(), kind)
{
    // Of all that is here only the lock has a TTL.
    redis_server server{kind, {"maxmemory-policy volatile-lru"}};
    lab at{server};
    auto settings = at.settings();
    settings.lease = 1'500ms;
    auto& c = at.connect(settings);
    auto& other = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("evicted")};
        hold held = co_await mine.acquire();
        server.ask("CONFIG", "SET", "maxmemory", "1");
        server.ask("SET", "other:key", "1");
        server.ask("CONFIG", "SET", "maxmemory", "0");
        BOOST_TEST(server.info("stats", "evicted_keys:") == 1);
        auto const [told] = co_await held.lost(asio::cancel_after(5s, tuple));
        BOOST_TEST(!told);
        hold next = co_await lock{other.client, mine.name()}.acquire();
        BOOST_TEST(next.fencing_token() > held.fencing_token());
        auto const [late] = co_await held.release(tuple);
        BOOST_TEST(late == error::lost);
        BOOST_TEST(bool{next});
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
