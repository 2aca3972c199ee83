// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The conditions under which a failover loses no lock, as docs/production.md has them and `colock
// doctor` checks them: for each a course of events that loses a lock where it is violated, and the
// same where it is met. The holder is at the primary, and another client asks the server that takes
// the primary's place.
#include "chaos/wrong_clock.hpp"
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/sentinel_group.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

namespace {

using lines = std::vector<std::string>;

/// Nothing renews meanwhile, because the tests block; and nothing ends.
constexpr milliseconds patient_lease = 60s;
/// It ends while the test looks on. `min-replicas-max-lag` has seconds, and is to be below a third.
constexpr milliseconds watched_lease = 4s;

lines with(lines some, std::string one)
{
    some.push_back(std::move(one));
    return some;
}

std::string replica_of(redis_server const& primary)
{
    return "replicaof 127.0.0.1 " + std::to_string(primary.port());
}

/// A primary and two replicas.
class trio {
public:
    explicit trio(lines const& some = {})
        : primary{usual_server(), with(some, "repl-diskless-sync-delay 0")}
        , replicas{
              redis_server{usual_server(), with(some, replica_of(primary))},
              redis_server{usual_server(), with(some, replica_of(primary))}}
    {
        wait_until_in_step(2);
    }

    void wait_until_in_step(int replicas_there)
    {
        wait_until("replicas", 20s, [&] {
            primary.ask("SET", "other:key", "1");
            return primary.ask("WAIT", std::to_string(replicas_there), "100").number ==
                replicas_there;
        });
    }

    /// They have nothing of what the primary does from now on, until they go on without it.
    void stop_replicas()
    {
        for (auto& each : replicas)
            each.pause();
        primary.ask("CLIENT", "KILL", "TYPE", "replica");
    }

    redis_server& next() { return replicas[0]; }
    bool next_is_primary() { return next().ask("ROLE").items.at(0).text == "master"; }
    std::string start_failover()
    {
        return primary.ask("FAILOVER", "TO", "127.0.0.1", std::to_string(next().port())).text;
    }
    void promote() { next().ask("REPLICAOF", "NO", "ONE"); }

    redis_server primary;
    std::array<redis_server, 2> replicas;
};

/// Two clients of one lock: of the primary, and of the one that takes its place.
class two_clients {
public:
    two_clients(redis_server& primary, durability how, milliseconds for_so_long)
        : at_{primary.by_port()}
        , how_{how}
        , lease_{for_so_long}
        , first_{&connect(primary)}
    {}

    void run(std::function<asio::awaitable<void>()> what) { at_.run_only(std::move(what), 60s); }

    /// By the first client, at the primary.
    asio::awaitable<void> take()
    {
        auto [ec, held] = co_await lock{first_->client, name_}.try_acquire(tuple);
        if (held)
            held_ = std::move(*held);
    }
    bool is_held() const { return bool{held_}; }
    std::string const& name() const { return name_; }

    /// By the second one there.
    asio::awaitable<bool> is_taken_at(redis_server& where, milliseconds wait = 0ms)
    {
        auto& second = connect(where, durability::none);
        auto [ec, held] = co_await lock{second.client, name_}.try_acquire_for(wait, tuple);
        if (held)
            after_ = std::move(*held);
        co_return bool{after_};
    }

    /// Both have it, and not only until the first one's last lease is over, which may have been
    /// renewed once more.
    asio::awaitable<bool> is_taken_beside(redis_server& where)
    {
        bool const is_taken = co_await is_taken_at(where, 2 * lease_);
        BOOST_TEST(is_taken);
        co_return !co_await ever([&] { return !held_; }, lease_);
    }

private:
    running_client& connect(redis_server& where) { return connect(where, how_); }
    running_client& connect(redis_server& where, durability how)
    {
        auto settings = quick(where.by_port());
        settings.lease = lease_;
        settings.sync_timeout = 2s;
        settings.durability = how;
        return at_.connect(settings);
    }

    lab at_;
    durability how_;
    milliseconds lease_;
    std::string name_ = unique_name("condition");
    running_client* first_;
    hold held_, after_;
};

bool is_lost_if_nobody_has_heard_of_it(durability how)
{
    trio servers;
    two_clients clients{servers.primary, how, patient_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        servers.stop_replicas();
        co_await clients.take();
        servers.primary.kill();
        for (auto& each : servers.replicas)
            each.resume();
        servers.promote();
        if (clients.is_held())
            lost = co_await clients.is_taken_at(servers.next());
    });
    return lost;
}

/// One replica has the lock; Sentinels promote the other one, if they prefer it.
bool is_lost_if_preferred(char const* priority)
{
    sentinel_group group{usual_server()};
    auto const old = group.current_primary();
    std::size_t const behind = (old + 1) % sentinel_group::servers;
    group.server(behind).ask("CONFIG", "SET", "replica-priority", priority);
    two_clients clients{group.server(old), durability::majority, patient_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        group.pause_replica(behind);
        group.server(old).ask("CLIENT", "KILL", "TYPE", "replica");
        wait_until("the other replica", 10s, [&] {
            group.server(old).ask("SET", "other:key", "1");
            return group.server(old).ask("WAIT", "1", "100").number == 1;
        });
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        group.server(old).kill();
        group.server(behind).resume();
        auto const next = group.wait_for_failover(old);
        bool const is_preferred = std::string_view{priority} == "10";
        BOOST_TEST((next == behind) == is_preferred);
        lost = group.server(next).ask("EXISTS", clients.name()).number == 0;
    });
    return lost;
}

/// One Sentinel alone finds that the primary does not answer. If that is enough for a failover,
/// there are two primaries until the Sentinels have told the old one.
bool is_lost_if_so_many_agree(char const* quorum)
{
    sentinel_group group{usual_server()};
    auto const old = group.current_primary();
    std::size_t const next = (old + 1) % sentinel_group::servers;
    std::size_t const stays = (old + 2) % sentinel_group::servers;
    group.server(stays).ask("CONFIG", "SET", "replica-priority", "0");
    group.server(stays).ask("ACL", "SETUSER", "default", "-slaveof", "-replicaof");
    for (std::size_t i = 0; i != sentinel_group::sentinels; ++i) {
        auto const set = [&](char const* what, char const* value) {
            group.sentinel(i).ask("SENTINEL", "SET", group.name(), what, value);
        };
        set("quorum", quorum);
        set("down-after-milliseconds", i == 0 ? "1000" : "60000");
    }
    group.server(old).pause();
    wait_until("a Sentinel's doubt", 20s, [&] {
        return group.flags_of_primary(0).find("s_down") != std::string::npos;
    });
    // Time for two elections.
    bool const is_replaced = holds_within(10s, [&] { return group.is_primary(next); });
    for (std::size_t i = 0; i != sentinel_group::sentinels; ++i)
        group.sentinel(i).pause();
    group.server(old).resume();
    if (!is_replaced)
        return false;
    two_clients clients{group.server(old), durability::majority, watched_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        lost = co_await clients.is_taken_beside(group.server(next));
    });
    return lost;
}

/// A primary that lives is replaced, and asked for a lock meanwhile.
bool is_lost_if_taken_meanwhile(bool is_paused)
{
    trio servers;
    two_clients clients{servers.primary, durability::majority, patient_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        if (!is_paused)
            servers.promote();
        else
            BOOST_TEST(servers.start_failover() == "OK");
        co_await clients.take();
        wait_until("the new primary", 10s, [&] { return servers.next_is_primary(); });
        if (clients.is_held())
            lost = co_await clients.is_taken_at(servers.next());
    });
    return lost;
}

/// The replica that takes over leaves, and the other one stays with the old primary.
bool is_lost_beside_one_replica(char const* min_replicas)
{
    trio servers;
    two_clients clients{servers.primary, durability::majority, watched_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        servers.primary.ask("CONFIG", "SET", "min-replicas-to-write", min_replicas);
        servers.promote();
        lost = co_await clients.is_taken_beside(servers.next());
    });
    return lost;
}

/// One replica takes over, and the other one answers the old primary no more.
bool is_lost_where_cut_off(char const* min_replicas, char const* max_lag)
{
    trio servers;
    two_clients clients{servers.primary, durability::none, watched_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        servers.wait_until_in_step(2);
        servers.primary.ask("CONFIG", "SET", "min-replicas-to-write", min_replicas);
        servers.primary.ask("CONFIG", "SET", "min-replicas-max-lag", max_lag);
        servers.replicas[1].pause();
        servers.promote();
        lost = co_await clients.is_taken_beside(servers.next());
    });
    return lost;
}

bool is_lost_if_restarted(char const* appendonly)
{
    trio servers{{std::string{"appendonly "} + appendonly, "save \"\""}};
    two_clients clients{servers.primary, durability::all, patient_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        servers.primary.kill();
        servers.primary.start();
        servers.wait_until_in_step(2);
        if (servers.next().ask("EXISTS", clients.name()).number == 0)
            lost = co_await clients.is_taken_at(servers.primary);
    });
    return lost;
}

bool is_lost_if_memory_is_full(char const* policy)
{
    trio servers;
    two_clients clients{servers.primary, durability::all, patient_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        constexpr std::int64_t room = 1'000'000;
        auto const most = servers.primary.info("memory", "used_memory:") + room;
        servers.primary.ask("CONFIG", "SET", "maxmemory-policy", policy);
        servers.primary.ask("CONFIG", "SET", "maxmemory", std::to_string(most));
        std::string const value(1'000, 'x');
        auto const is_gone = [&] {
            return servers.next().ask("EXISTS", clients.name()).number == 0;
        };
        for (int i = 0; i != 20'000 && !is_gone(); ++i)
            servers.primary.ask("SET", "other:" + std::to_string(i), value);
        servers.promote();
        lost = co_await clients.is_taken_at(servers.next());
    });
    return lost;
}

/// The clock of the one that takes over is wrong by so much.
bool is_lost_if_ahead(int seconds)
{
    wrong_clock clock;
    clock.set(seconds);
    redis_server primary;
    std::optional<redis_server> next;
    {
        in_its_environment const meanwhile{clock};
        next.emplace(usual_server(), lines{replica_of(primary)});
    }
    two_clients clients{primary, durability::all, patient_lease};
    bool lost = false;
    clients.run([&]() -> asio::awaitable<void> {
        wait_until("the replica", 10s, [&] {
            primary.ask("SET", "other:key", "1");
            return primary.ask("WAIT", "1", "100").number == 1;
        });
        co_await clients.take();
        BOOST_TEST(clients.is_held());
        primary.kill();
        next->ask("REPLICAOF", "NO", "ONE");
        lost = co_await clients.is_taken_at(*next);
    });
    return lost;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conditions)

BOOST_AUTO_TEST_CASE(the_profile)
{
    BOOST_TEST(!is_lost_if_nobody_has_heard_of_it(durability::majority));
    BOOST_TEST(is_lost_if_nobody_has_heard_of_it(durability::none));
}

BOOST_AUTO_TEST_CASE(equal_priorities)
{
    BOOST_TEST(!is_lost_if_preferred("100"));
    BOOST_TEST(is_lost_if_preferred("10"));
}

BOOST_AUTO_TEST_CASE(a_majority_of_sentinels_decides)
{
    BOOST_TEST(!is_lost_if_so_many_agree("2"));
    BOOST_TEST(is_lost_if_so_many_agree("1"));
}

BOOST_AUTO_TEST_CASE(failovers_by_hand_pause_the_primary)
{
    BOOST_TEST(!is_lost_if_taken_meanwhile(true));
    BOOST_TEST(is_lost_if_taken_meanwhile(false));
}

BOOST_AUTO_TEST_CASE(writes_need_replicas_that_no_other_part_has)
{
    BOOST_TEST(!is_lost_beside_one_replica("2"));
    BOOST_TEST(is_lost_beside_one_replica("1"));
}

BOOST_AUTO_TEST_CASE(writes_need_a_replica)
{
    BOOST_TEST(!is_lost_where_cut_off("1", "1"));
    BOOST_TEST(is_lost_where_cut_off("0", "1"));
}

BOOST_AUTO_TEST_CASE(which_has_answered_within_a_third_of_the_lease)
{
    BOOST_TEST(is_lost_where_cut_off("1", "20"));
}

BOOST_AUTO_TEST_CASE(servers_keep_their_data)
{
    BOOST_TEST(!is_lost_if_restarted("yes"));
    BOOST_TEST(is_lost_if_restarted("no"));
}

BOOST_AUTO_TEST_CASE(nothing_is_evicted)
{
    BOOST_TEST(!is_lost_if_memory_is_full("noeviction"));
    BOOST_TEST(is_lost_if_memory_is_full("allkeys-random"));
}

BOOST_AUTO_TEST_CASE(clocks_agree, *only_where_clocks_can_jump())
{
    BOOST_TEST(!is_lost_if_ahead(0));
    BOOST_TEST(is_lost_if_ahead(600));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
