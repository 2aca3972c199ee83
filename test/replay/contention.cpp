// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Many who want the same.
#include "decide/names.hpp"
#include "replay/replay.hpp"

#include <array>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(contention)

BOOST_DATA_TEST_CASE(messages_pile_up_into_tries, each_server(), kind)
{
    far_lab at{kind};
    auto& c = at.connect(calm(at.patient()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("pile")};
        take_by_hand(at.server(), mine.name(), 30s);
        hold held;
        tasks all{at.context()};
        all.start([&]() -> asio::awaitable<void> { held = co_await mine.acquire(); });
        BOOST_TEST(co_await is_waited_for(at.server(), mine.name()));
        co_await pause_for(50ms);  // for the try that follows the subscription
        at.network.hold_back(proxy::way::to_client, proxy::link::push);
        for (int i = 0; i != 300; ++i)
            at.server().ask("PUBLISH", "redisson_lock__channel:{" + mine.name() + "}", "0");
        auto const ran = at.server().script_calls();
        at.network.let_through();
        BOOST_TEST(co_await eventually([&] { return at.server().script_calls() > ran; }));
        co_await pause_for(200ms);
        BOOST_TEST(at.server().script_calls() - ran < 30);
        auto const quiet = at.server().script_calls();
        co_await pause_for(100ms);
        BOOST_TEST(at.server().script_calls() == quiet);
        BOOST_TEST(!held);
        release_by_hand(at.server(), mine.name());
        co_await all.join(3s);
    });
}

BOOST_DATA_TEST_CASE(many_names_and_tasks_starve, each_server(), kind)
{
    lab at{shared_server(kind)};
    std::array clients{&at.connect(calm(at.settings())), &at.connect(calm(at.settings()))};
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("starve");
        std::vector<int> inside(500);
        int entered = 0;
        tasks all{at.context()};
        for (int task = 0; task != 48; ++task)
            all.start([&, task]() -> asio::awaitable<void> {
                auto& c = *clients.at(static_cast<std::size_t>(task) % 2);
                for (int i = 0; i != 20; ++i) {
                    auto const n = static_cast<std::size_t>(task * 31 + i * 97) % inside.size();
                    hold held = co_await lock{c.client, name + ":" + std::to_string(n)}.acquire();
                    BOOST_TEST(++inside[n] == 1);
                    co_await pause_for(1ms);
                    --inside[n];
                    ++entered;
                    co_await held.release();
                }
            });
        co_await all.join(15s);
        BOOST_TEST(entered == 48 * 20);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// Places in a fair queue that nobody stands at.

inline bool is_any_left(redis_server& server, std::string const& name)
{
    decide::fair_keys const keys{name};
    return exists(server, name) || exists(server, keys.queue) || exists(server, keys.timeouts) ||
        exists(server, keys.tickets);
}

BOOST_AUTO_TEST_SUITE(fair_queue)

BOOST_DATA_TEST_CASE(deadlines_drift_with_each_try, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& holder = at.connect(calm(at.settings()));
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("drift");
        decide::fair_keys const keys{name};
        hold held = co_await fair_lock{holder.client, name}.acquire({.lease = 30s});
        // Many come, wait and go again in front of one who stays.
        tasks all{at.context()};
        for (int i = 0; i != 100; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                fair_lock const mine{c.client, name};
                BOOST_TEST(is_refused(co_await mine.try_acquire_for(milliseconds{200 + i})));
            });
        hold next;
        tasks stays{at.context()};
        stays.start([&]() -> asio::awaitable<void> {
            next = co_await fair_lock{c.client, name}.acquire();
        });
        co_await all.join(5s);
        BOOST_TEST(co_await eventually([&] {
            return at.server().ask("LLEN", keys.queue).number == 1;
        }));
        // A life from now at most, however many tries there were.
        auto const now = std::stoll(at.server().ask("TIME").items.at(0).text) * 1'000;
        auto const last = at.server().ask("ZRANGE", keys.tickets, "-1", "-1", "WITHSCORES");
        BOOST_TEST_REQUIRE(last.items.size() == 2U);
        BOOST_TEST(std::stod(last.items[1].text) < static_cast<double>(now + 5'000 + 2'000));
        stopwatch const watch;
        co_await held.release();
        co_await stays.join(3s);
        BOOST_TEST(bool{next});
        co_await next.release();
        BOOST_TEST(co_await eventually([&] { return !is_any_left(at.server(), name); }));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
