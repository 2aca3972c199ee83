// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Many who want the same.
#include "replay/replay.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(contention)

BOOST_DATA_TEST_CASE(all_who_wait_ask_at_each_release, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    auto& holder = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("herd")};
        hold first = co_await lock{holder.client, mine.name()}.acquire();
        std::vector<int> order;
        tasks all{at.context()};
        for (int i = 0; i != 64; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                hold held = co_await mine.acquire();
                order.push_back(i);
                co_await held.release();
            });
        bool const waiting = co_await is_waited_for(at.server(), mine.name());
        BOOST_TEST(waiting);
        BOOST_TEST(c.client.stats().waiters == 64U);
        auto const ran = at.server().script_calls();
        co_await first.release();
        co_await all.join(5s);
        BOOST_TEST(at.server().script_calls() - ran <= 4 * 64);
        BOOST_TEST(std::ranges::is_sorted(order));
        BOOST_TEST(order.size() == 64U);
    });
}

BOOST_DATA_TEST_CASE(waiting_keeps_the_server_busy, each_server(), kind)
{
    lab at{shared_server(kind)};
    auto& c = at.connect(calm(at.settings()));
    at.run([&]() -> asio::awaitable<void> {
        lock const mine{c.client, unique_name("busy")};
        take_by_hand(at.server(), mine.name(), 30s);
        std::vector<hold> got(64);
        tasks all{at.context()};
        for (auto& held : got)
            all.start([&]() -> asio::awaitable<void> {
                held = co_await mine.acquire();
                co_await held.release();
            });
        bool const waiting = co_await is_waited_for(at.server(), mine.name());
        BOOST_TEST(waiting);
        co_await pause_for(50ms);
        auto const ran = at.server().script_calls();
        co_await pause_for(500ms);
        BOOST_TEST(at.server().script_calls() == ran);
        release_by_hand(at.server(), mine.name());
        co_await all.join(5s);
    });
}

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
        bool const waiting = co_await is_waited_for(at.server(), mine.name());
        BOOST_TEST(waiting);
        co_await pause_for(50ms);  // for the try that follows the subscription
        at.network.hold_back(proxy::way::to_client, proxy::link::push);
        for (int i = 0; i != 300; ++i)
            at.server().ask("PUBLISH", "redisson_lock__channel:{" + mine.name() + "}", "0");
        auto const ran = at.server().script_calls();
        at.network.let_through();
        bool const woken = co_await eventually([&] { return at.server().script_calls() > ran; });
        BOOST_TEST(woken);
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

}  // namespace colock::test
