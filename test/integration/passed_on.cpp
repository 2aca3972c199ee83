// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A release gives the lock to the first of the wait list (`config::passing`).
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <utility>

namespace colock::test {

namespace {

config passing_on(lab const& at, bool on = true)
{
    auto settings = at.settings();
    settings.lease = 30s;
    settings.poll_cap = 5s;  // a lost message shows
    settings.max_tenure = 0ms;
    settings.passing = on;
    return settings;
}

/// Clients with one task each, that want a lock all the time.
struct takers {
    takers(lab& at, std::string of) : name{std::move(of)}, all{at.context()} {}

    void add(running_client& redis)
    {
        auto& entered = times.emplace_back(0);
        all.start([this, &redis, &entered]() -> asio::awaitable<void> {
            lock const mine{redis.client, name};
            while (std::ranges::min(times) < enough) {
                auto held = co_await mine.acquire();
                BOOST_TEST(held.fencing_token() > last_token);
                last_token = held.fencing_token();
                ++entered;
                co_await critical.stay(1ms);
                co_await held.release();
            }
        });
    }
    int sum() const
    {
        int found = 0;
        for (auto const each : times)
            found += each;
        return found;
    }

    std::string name;
    tasks all;
    section critical;
    std::list<int> times;
    std::uint64_t last_token = 0;
    int enough = 100;
};

/// How many scripts a hundred holds cost, by two clients in turns.
int scripts_for_a_hundred(server_kind kind, bool passing)
{
    auto& server = shared_server(kind);
    lab at{server};
    std::array clients{&at.connect(passing_on(at, passing)), &at.connect(passing_on(at, passing))};
    int cost = 0;
    at.run([&]() -> asio::awaitable<void> {
        takers both{at, unique_name("passed")};
        auto const before = server.script_calls();
        for (auto* each : clients)
            both.add(*each);
        co_await both.all.join(20s);
        cost = static_cast<int>(100 * (server.script_calls() - before) / both.sum());
    });
    return cost;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passed_on)

BOOST_DATA_TEST_CASE(a_hand_over_costs_one_script_less, each_server(), kind)
{
    auto const with = scripts_for_a_hundred(kind, true);
    auto const without = scripts_for_a_hundred(kind, false);
    BOOST_TEST_MESSAGE("100 holds: " << with << " scripts, without passing " << without);
    BOOST_TEST(with < 230);
    BOOST_TEST(with + 50 < without);
}

BOOST_DATA_TEST_CASE(beside_clients_without_it_all_have_their_turn, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{
        &at.connect(passing_on(at)),
        &at.connect(passing_on(at, false)),
        &at.connect(passing_on(at)),
        &at.connect(passing_on(at, false))};
    at.run([&]() -> asio::awaitable<void> {
        takers those{at, unique_name("mixed")};
        for (auto* each : clients)
            those.add(*each);
        co_await those.all.join(20s);
        BOOST_TEST(std::ranges::max(those.times) < 5 * std::ranges::min(those.times));
    });
}

BOOST_DATA_TEST_CASE(a_waiter_whose_process_dies_is_passed_over, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& first = at.connect(passing_on(at));
    auto& mortal = at.connect(passing_on(at));
    auto& heir = at.connect(passing_on(at));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("dies");
        auto held = co_await lock{first.client, name}.acquire();
        tasks others{at.context()};
        others.start([&]() -> asio::awaitable<void> {
            auto [ec, none] = co_await lock{mortal.client, name}.acquire(tuple);
            BOOST_TEST(ec == error::closed);
        });
        auto const stands = [&](std::int64_t many) {
            return shared_server(kind).ask("LLEN", "colock_wait:{" + name + "}").number == many;
        };
        BOOST_TEST(co_await eventually([&] { return stands(1); }));
        others.start([&]() -> asio::awaitable<void> {
            auto next = co_await lock{heir.client, name}.acquire();
            co_await next.release();
        });
        BOOST_TEST(co_await eventually([&] { return stands(2); }));
        mortal.client.stop();  // sends nothing
        co_await eventually([&] { return mortal.client.stats().waiters == 0; });
        stopwatch const watch;
        co_await held.release();
        co_await others.join(4s);
        BOOST_TEST(watch.ms() < within(500));
    });
}

BOOST_DATA_TEST_CASE(a_waiter_that_gives_up_costs_the_next_nothing, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& first = at.connect(passing_on(at));
    auto& fickle = at.connect(passing_on(at));
    auto& heir = at.connect(passing_on(at));
    at.run([&]() -> asio::awaitable<void> {
        for (int round = 0; round != 50; ++round) {
            auto const name = unique_name("fickle");
            auto held = co_await lock{first.client, name}.acquire();
            tasks others{at.context()};
            others.start([&]() -> asio::awaitable<void> {
                // Ends about when the lock is passed on.
                auto got = co_await lock{fickle.client, name}.try_acquire_for(milliseconds{round});
                if (got)
                    co_await got->release();
            });
            others.start([&]() -> asio::awaitable<void> {
                auto next = co_await lock{heir.client, name}.acquire();
                co_await next.release();
            });
            co_await time_passes(25ms);
            stopwatch const watch;
            co_await held.release();
            co_await others.join(4s);
            BOOST_TEST(watch.ms() < within(1'000));
        }
    });
}

BOOST_DATA_TEST_CASE(what_was_passed_on_is_renewed, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto settings = passing_on(at);
    settings.poll_cap = 200ms;  // a first lease of 600 ms
    auto& first = at.connect(settings);
    auto& second = at.connect(settings);
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("renewed");
        auto held = co_await lock{first.client, name}.acquire();
        tasks waits{at.context()};
        hold next;
        waits.start([&]() -> asio::awaitable<void> {
            next = co_await lock{second.client, name}.acquire();
        });
        bool const stands =
            co_await eventually([&] { return exists(server, "colock_wait:{" + name + "}"); });
        BOOST_TEST(stands);
        co_await held.release();
        co_await waits.join(5s);
        co_await time_passes(1'500ms);
        BOOST_TEST(bool{next});
        BOOST_TEST(exists(server, name));
        co_await next.release();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
