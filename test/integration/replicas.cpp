// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks that wait for a replica which doesn't answer, and those beside them that don't.
#include "family/kinds.hpp"
#include "integration/replicated.hpp"

#include <string>
#include <type_traits>

namespace colock::test {

/// Such that the time for replicas is 300 ms: neither a part of the lease nor the link's silence.
inline config patient(lab const& at)
{
    auto settings = at.settings();
    settings.lease = 2s;
    settings.sync_timeout = 300ms;
    return settings;
}

inline const acquire_options on_one_replica{.sync_replicas = 1};

/// Tries one, and says how long that took.
inline asio::awaitable<std::int64_t> refused_after(colock::client const& redis, std::string name)
{
    stopwatch const watch;
    auto const [ec, held] =
        co_await lock{redis, std::move(name)}.try_acquire(on_one_replica, tuple);
    BOOST_TEST((ec == error::not_replicated), ec.message());
    BOOST_TEST(!held.has_value());
    co_return watch.ms();
}

using replicated_kinds =
    boost::mpl::list<plain, spinning, fenced, fair, reading, writing, several, majority>;

BOOST_AUTO_TEST_SUITE(replicas)

BOOST_DATA_TEST_CASE(one_that_is_stopped_is_waited_for_until_the_limit, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    servers.replica.pause();
    at.run([&]() -> asio::awaitable<void> {
        // The first of all: its link has yet to come up. unit/redis/replica_waits.cpp has the
        // limit.
        BOOST_TEST(co_await refused_after(redis.client, unique_name("first")) >= 290);
        // One after the other they would take half a minute.
        tasks all{at.context()};
        for (int i = 0; i != 100; ++i)
            all.start([&]() -> asio::awaitable<void> {
                co_await refused_after(redis.client, unique_name("many"));
            });
        co_await all.join(5s);
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().owed_releases == 0; }));
        BOOST_TEST(servers.primary.ask("KEYS", "test:*").items.empty());

        servers.replica.resume();
        lock const mine{redis.client, unique_name("again")};
        stopwatch const watch;
        auto [ec, held] = co_await mine.try_acquire(on_one_replica, tuple);
        BOOST_TEST(!ec, ec.message() << " after " << watch.ms());
        BOOST_TEST(held.has_value());
        if (held)
            co_await held->release();
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_kind_is_held_once_the_replica_has_it, Kind, replicated_kinds)
{
    replicated servers{usual_server()};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name(Kind::name);
        auto const mine = Kind::of(redis.client, name);
        auto first = co_await mine.acquire(on_one_replica);
        BOOST_TEST(exists(servers.replica, name));
        co_await first.release();
        servers.replica.pause();
        auto const [ec, none] = co_await mine.try_acquire(on_one_replica, tuple);
        bool const is_red = std::is_same_v<Kind, majority>;
        BOOST_TEST((ec == (is_red ? error::no_quorum : error::not_replicated)), ec.message());
        decltype(first) next;
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            next = co_await mine.acquire(on_one_replica);
        });
        co_await ever([&] { return bool{next}; }, 500ms);
        BOOST_TEST(!next);
        servers.replica.resume();
        co_await waiting.join(10s);
        BOOST_TEST(bool{next});
    });
}

// It ends all waiting for replicas by an error, and closes the connections.
BOOST_DATA_TEST_CASE(a_server_that_becomes_a_replica_meanwhile_is_no_error, each_server(), kind)
{
    replicated servers{kind};
    auto& server = servers.primary;
    lab at{server};
    auto settings = at.settings();
    settings.lease = settings.silence_timeout.emplace(10s);
    settings.sync_timeout = 3s;
    auto& redis = at.connect(settings);
    servers.replica.pause();
    at.run([&]() -> asio::awaitable<void> {
        tasks waiting{at.context()};
        waiting.start([&]() -> asio::awaitable<void> {
            lock const mine{redis.client, unique_name("waiting")};
            auto held = co_await mine.acquire(on_one_replica);
            co_await held.release();
        });
        bool const blocked =
            co_await eventually([&] { return server.info("clients", "blocked_clients:") == 1; });
        BOOST_TEST_REQUIRE(blocked);
        server.ask("REPLICAOF", "127.0.0.1", std::to_string(servers.replica.port()));
        server.ask("REPLICAOF", "NO", "ONE");
        BOOST_TEST(server.info("errorstats", "errorstat_UNBLOCKED:count=") == 1);
        servers.replica.resume();
        co_await waiting.join(10s);
    });
}

// Not the plain locks of the same client, nor their renewals.
BOOST_DATA_TEST_CASE(a_wait_for_a_replica_holds_up_nothing_else, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto settings = at.settings();
    settings.lease = 3s;
    settings.sync_timeout = 700ms;
    auto& redis = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        hold kept = co_await lock{redis.client, unique_name("kept")}.acquire();
        auto const until = kept.valid_until();
        lock const plain{redis.client, unique_name("plain")};
        servers.replica.pause();
        bool came_before = false;  // a busy machine may need some rounds
        for (int i = 0; i != 20 && !(came_before && kept.valid_until() > until); ++i) {
            bool is_over = false;
            tasks waiting{at.context()};
            waiting.start([&]() -> asio::awaitable<void> {
                co_await refused_after(redis.client, unique_name("slow"));
                is_over = true;
            });
            co_await eventually([&] {
                auto const clients = servers.primary.ask("INFO", "clients").text;
                return is_over || clients.find("blocked_clients:1") != std::string::npos;
            });
            hold beside = co_await plain.acquire();
            co_await beside.extend(2s);
            co_await beside.release();
            came_before |= !is_over;
            co_await waiting.join(5s);
        }
        BOOST_TEST(came_before);
        BOOST_TEST((kept.valid_until() > until));
        co_await kept.release();
        servers.replica.resume();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
