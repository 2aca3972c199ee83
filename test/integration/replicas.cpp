// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Locks that wait for a replica which doesn't answer, and those beside them that don't.
#include "integration/replicated.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

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

/// A kind of lock that has two keys at most.
struct replicated_lock {
    char const* name;
    error without_replicas;  ///< what who tries once is told then
    std::function<asio::awaitable<hold>(client const&, std::string const&)> acquire;
    std::function<asio::awaitable<error_code>(client const&, std::string const&)> try_acquire;
};

template <class Make>
replicated_lock replicated_by(char const* name, error without_replicas, Make make)
{
    return {
        name,
        without_replicas,
        [make](client const& c, std::string const& key) -> asio::awaitable<hold> {
            auto const mine = make(c, key);
            co_return co_await mine.acquire(on_one_replica);
        },
        [make](client const& c, std::string const& key) -> asio::awaitable<error_code> {
            auto const mine = make(c, key);
            auto [ec, held] = co_await mine.try_acquire(on_one_replica, tuple);
            if (held)
                co_await held->release(tuple);
            co_return ec;
        }};
}

/// All but the plain one.
inline std::vector<replicated_lock> replicated_locks()
{
    auto const refused = error::not_replicated;
    auto const second = [](std::string const& key) { return key + ":second"; };
    return {
        replicated_by(
            "fair_lock",
            refused,
            [](client const& c, std::string const& key) {
                return fair_lock{c, key};
            }
        ),
        replicated_by(
            "spin_lock",
            refused,
            [](client const& c, std::string const& key) {
                return spin_lock{c, key};
            }
        ),
        replicated_by(
            "fenced_lock",
            refused,
            [](client const& c, std::string const& key) {
                return fenced_lock{c, key};
            }
        ),
        replicated_by(
            "read_lock",
            refused,
            [](client const& c, std::string const& key) {
                return read_write_lock{c, key}.read();
            }
        ),
        replicated_by(
            "write_lock",
            refused,
            [](client const& c, std::string const& key) {
                return read_write_lock{c, key}.write();
            }
        ),
        replicated_by(
            "multi_lock",
            refused,
            [second](client const& c, std::string const& key) {
                return multi_lock{lock{c, key}, lock{c, second(key)}};
            }
        ),
        replicated_by(
            "red_lock",
            error::no_quorum,
            [second](client const& c, std::string const& key) {
                return red_lock{lock{c, key}, lock{c, second(key)}};
            }
        )};
}

/// Microseconds of one and the other, in the middle of many.
struct speed {
    std::int64_t acquire = 0;
    std::int64_t extend = 0;
};

/// The middle of 300 each, in turns: so another load of the machine slows down all of them.
inline asio::awaitable<std::vector<speed>> speeds_of_plain_locks(
    std::vector<colock::client const*> all
)
{
    using clock = std::chrono::steady_clock;
    struct times {
        std::vector<std::int64_t> acquiring, extending;
    };
    std::vector<times> taken(all.size());
    auto const since = [](clock::time_point begin) {
        return (clock::now() - begin) / std::chrono::microseconds{1};
    };
    auto const name = unique_name("plain");
    for (int i = 0; i != 300; ++i)
        for (std::size_t one = 0; one != all.size(); ++one) {
            auto const begin = clock::now();
            hold held = co_await lock{*all[one], name}.acquire();
            taken[one].acquiring.push_back(since(begin));
            auto const middle = clock::now();
            co_await held.extend(2s);
            taken[one].extending.push_back(since(middle));
            co_await held.release();
        }
    std::vector<speed> middles;
    for (auto& [acquiring, extending] : taken) {
        std::ranges::sort(acquiring);
        std::ranges::sort(extending);
        middles.push_back({acquiring[150], extending[150]});
    }
    co_return middles;
}

BOOST_AUTO_TEST_SUITE(replicas)

BOOST_DATA_TEST_CASE(one_that_answers_costs_no_time, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("acknowledged")};
        auto first = co_await mine.acquire(on_one_replica);
        co_await first.release();
        stopwatch const watch;
        for (int i = 0; i != 20; ++i) {
            auto held = co_await mine.acquire(on_one_replica);
            BOOST_TEST(exists(servers.replica, mine.name()));
            co_await held.release();
        }
        BOOST_TEST(watch.ms() < 20 * 150);
    });
}

BOOST_DATA_TEST_CASE(one_that_is_stopped_is_waited_for_until_the_limit, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    servers.replica.pause();
    at.run([&]() -> asio::awaitable<void> {
        // The first of all: its link has yet to come up.
        auto const first = co_await refused_after(redis.client, unique_name("first"));
        BOOST_TEST(first >= 290);
        BOOST_TEST(first < 300 + 250);
        // One goes alone, and those that come meanwhile go together.
        std::int64_t longest = 0;
        tasks all{at.context()};
        for (int i = 0; i != 100; ++i)
            all.start([&]() -> asio::awaitable<void> {
                auto const after = co_await refused_after(redis.client, unique_name("many"));
                longest = std::max(longest, after);
            });
        co_await all.join(5s);
        BOOST_TEST(longest < 2 * 300 + 250);
        bool const given_back =
            co_await eventually([&] { return redis.client.stats().owed_releases == 0; });
        BOOST_TEST(given_back);
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

BOOST_DATA_TEST_CASE(who_waits_gets_in_when_it_is_back, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    servers.replica.pause();
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{redis.client, unique_name("waiting")};
        tasks waiting{at.context()};
        bool got = false;
        waiting.start([&]() -> asio::awaitable<void> {
            auto held = co_await mine.acquire(on_one_replica);
            got = true;
            co_await held.release();
        });
        // Some rounds in vain.
        co_await ever([&] { return got; }, 1s);
        BOOST_TEST(!got);
        servers.replica.resume();
        co_await waiting.join(1s);
    });
}

BOOST_DATA_TEST_CASE(each_kind_is_held_once_the_replica_has_it, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    at.run([&]() -> asio::awaitable<void> {
        for (auto const& each : replicated_locks()) {
            auto const key = unique_name(each.name);
            hold held = co_await each.acquire(redis.client, key);
            BOOST_TEST(exists(servers.replica, key), each.name);
            co_await held.release();
            BOOST_TEST(!exists(servers.primary, key), each.name);
        }
    });
}

BOOST_DATA_TEST_CASE(no_kind_is_held_without_the_replica, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    servers.replica.pause();
    at.run([&]() -> asio::awaitable<void> {
        std::size_t inside = 0;
        tasks waiting{at.context()};
        for (auto const& each : replicated_locks()) {
            auto const ec = co_await each.try_acquire(redis.client, unique_name(each.name));
            BOOST_TEST((ec == each.without_replicas), each.name << ": " << ec.message());
            waiting.start([&inside, &redis, each]() -> asio::awaitable<void> {
                hold held = co_await each.acquire(redis.client, unique_name(each.name));
                ++inside;
                co_await held.release();
            });
        }
        co_await time_passes(1s);
        BOOST_TEST(inside == 0U);
        servers.replica.resume();
        co_await waiting.join(10s);
        BOOST_TEST(inside == replicated_locks().size());
        co_await eventually([&] { return redis.client.stats().owed_releases == 0; });
    });
}

// The first hold has asked no replica.
BOOST_DATA_TEST_CASE(re_entry_waits_for_the_replica, each_server(), kind)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    servers.replica.pause();
    at.run([&]() -> asio::awaitable<void> {
        owner const me;
        lock const mine{redis.client, unique_name("re-entry")};
        hold outer = co_await mine.acquire({.as = me});
        acquire_options const again{.as = me, .sync_replicas = 1};
        auto const [ec, none] = co_await mine.try_acquire(again, tuple);
        BOOST_TEST((ec == error::not_replicated), ec.message());
        BOOST_TEST(bool{outer});
        servers.replica.resume();
        hold inner = co_await mine.acquire(again);
        BOOST_TEST(exists(servers.replica, mine.name()));
        co_await inner.release();
        co_await outer.release();
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

BOOST_DATA_TEST_CASE(
    plain_locks_beside_it_are_as_quick_as_those_of_another_client, each_server(), kind
)
{
    replicated servers{kind};
    lab at{servers.primary};
    auto& redis = at.connect(patient(at));
    auto& other = at.connect(patient(at));
    std::vector<colock::client const*> const clients{&redis.client, &other.client};
    at.run([&]() -> asio::awaitable<void> {
        lock const kept{redis.client, unique_name("kept")};
        hold held = co_await kept.acquire();
        servers.replica.pause();
        bool is_on = true;
        auto least = milliseconds::max();
        tasks all{at.context()};
        for (int i = 0; i != 10; ++i)
            all.start([&]() -> asio::awaitable<void> {
                auto const name = unique_name("slow");
                while (is_on)
                    co_await refused_after(redis.client, name);
            });
        all.start([&]() -> asio::awaitable<void> {
            co_await eventually(
                [&] {
                    auto const left = held.valid_until() - hold::clock::now();
                    least = std::min(least, std::chrono::duration_cast<milliseconds>(left));
                    return !is_on;
                },
                20s
            );
        });
        stopwatch const watch;
        std::vector<speed> both;
        do
            both = co_await speeds_of_plain_locks(clients);
        while (watch.ms() < 2'000);
        is_on = false;
        co_await all.join(5s);
        speed const beside = both.front(), apart = both.back();
        BOOST_TEST_MESSAGE(
            "middle of 300, in us: acquire " << beside.acquire << ", of another client "
                                             << apart.acquire << "; extend " << beside.extend
                                             << ", of another client " << apart.extend
        );
        BOOST_TEST(beside.acquire < 4 * apart.acquire + 1'000);
        BOOST_TEST(beside.extend < 4 * apart.extend + 1'000);
        // Of 1,978 ms, a third and a little passes until a renewal is answered.
        BOOST_TEST(least.count() > 1'100);
        co_await held.release();
        servers.replica.resume();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
