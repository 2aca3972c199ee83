// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A primary that accepts connections and answers nothing: its process is stopped, or its machine is
// frozen. The Sentinels are scripted, so that the test says when they name another one.
#include "integration/suites.hpp"
#include "support/black_hole.hpp"
#include "support/patience.hpp"
#include "support/scripted_server.hpp"

#include <array>

namespace colock::test {

/// A primary, its replica, and five Sentinels.
struct watched_pair {
    explicit watched_pair(server_kind kind) : first{kind, at_once}, second{kind, at_once}
    {
        second.ask("REPLICAOF", "127.0.0.1", std::to_string(first.port()));
        name(first);
    }
    void name(redis_server const& primary)
    {
        for (auto& each : sentinels)
            each.name(primary.port());
    }
    void promote_second()
    {
        second.ask("REPLICAOF", "NO", "ONE");
        name(second);
    }
    bool is_replicated(std::string const& key) { return second.ask("EXISTS", key).number == 1; }

    config by_sentinel() const
    {
        config c;
        c.topology = topology::sentinel;
        c.master_name = "main";
        c.addresses.clear();
        for (auto const& each : sentinels)
            c.addresses.push_back(each.where());
        return c;
    }
    /// The default times, four times as fast where that is safe.
    config settings() const
    {
        auto c = quick(by_sentinel());
        c.lease = 7'500ms;
        c.connect_timeout = 1s;
        c.silence_timeout = 1s;
        c.links = 1;
        return c;
    }

    /// A replica gets its copy without the usual five seconds of waiting for others.
    std::vector<std::string> const at_once{"repl-diskless-sync-delay 0"};
    redis_server first, second;
    std::array<scripted_server, 5> sentinels;
};

inline bool is_connected_to(redis_server& server)
{
    return server.ask("CLIENT", "LIST").text.find("name=colock") != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(hanging_primary)

BOOST_DATA_TEST_CASE(the_new_primary_is_reached_soon_and_holds_live, each_server(), kind)
{
    watched_pair pair{kind};
    lab at{pair.by_sentinel()};
    auto& redis = at.connect(pair.settings());
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("hangs");
        hold held = co_await lock{redis.client, name}.acquire();
        BOOST_TEST(co_await eventually([&] { return pair.is_replicated(name); }));
        // Just after a renewal, so that how much is left of the lease is no matter of chance.
        auto const before = held.valid_until();
        BOOST_TEST(co_await eventually([&] { return held.valid_until() > before; }));
        pair.first.pause();
        stopwatch watch;
        BOOST_TEST(co_await eventually([&] { return redis.client.stats().links_up == 0; }));
        // It tries the one that hangs until the Sentinels have agreed.
        co_await time_passes(milliseconds{1'600} - milliseconds{watch.ms()});
        pair.promote_second();
        stopwatch const named;
        bool const again = co_await eventually(
            [&] { return redis.client.stats().links_up != 0 && is_connected_to(pair.second); }, 15s
        );
        BOOST_TEST(again);
        BOOST_TEST(named.ms() < within(2'000));  // connect_timeout and a second
        BOOST_TEST(bool{held}, "lost; connected again " << watch.ms() << " ms after the hang");
        pair.first.resume();
        co_await held.release(tuple);
    });
}

// A machine that has lost its power answers no attempt to connect.
BOOST_DATA_TEST_CASE(a_machine_that_is_gone_delays_no_longer, each_server(), kind)
{
    watched_pair pair{kind};
    lab at{pair.by_sentinel()};
    auto& redis = at.connect(pair.settings());
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("gone");
        hold held = co_await lock{redis.client, name}.acquire();
        BOOST_TEST(co_await eventually([&] { return pair.is_replicated(name); }));
        pair.first.kill();
        black_hole const nothing{"127.0.0.1", pair.first.port()};
        stopwatch const watch;
        co_await time_passes(milliseconds{500} - milliseconds{watch.ms()});
        pair.promote_second();
        stopwatch const named;
        bool const again = co_await eventually(
            [&] { return redis.client.stats().links_up != 0 && is_connected_to(pair.second); }, 15s
        );
        BOOST_TEST(again);
        BOOST_TEST(named.ms() < within(2'000));
        BOOST_TEST(bool{held});
        co_await held.release(tuple);
    });
}

// Sentinels that hang, or whose machines are gone, cost their share and no more.
BOOST_DATA_TEST_CASE(sentinels_that_hang_are_passed_over, each_server(), kind)
{
    watched_pair pair{kind};
    auto const silent = [](auto const&) { return scripted_server::answer{""}; };
    pair.sentinels[0].say(silent);
    pair.sentinels[1].listen(false);
    black_hole const gone{"127.0.0.1", pair.sentinels[1].port()};
    lab at{pair.by_sentinel()};
    auto& redis = at.connect(pair.settings());
    at.run([&]() -> asio::awaitable<void> {
        stopwatch const watch;
        hold held = co_await lock{redis.client, unique_name("passed")}.acquire();
        BOOST_TEST(watch.ms() < within(4'000));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
