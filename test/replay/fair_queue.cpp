// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Places in a fair queue that nobody stands at.
#include "decide/names.hpp"
#include "replay/replay.hpp"

namespace colock::test {

inline bool is_any_left(redis_server& server, std::string const& name)
{
    decide::fair_keys const keys{name};
    return exists(server, name) || exists(server, keys.queue) || exists(server, keys.timeouts) ||
        exists(server, keys.tickets);
}

BOOST_AUTO_TEST_SUITE(fair_queue)

BOOST_DATA_TEST_CASE(who_gives_up_leaves_a_place, each_server(), kind)
{
    far_lab at{kind};
    auto& holder = at.connect(calm(at.settings()));
    auto& c = at.connect(calm(at.patient()));
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("place");
        decide::fair_keys const keys{name};
        auto const queued = [&] { return at.server().ask("LLEN", keys.queue).number; };
        fair_lock const mine{c.client, name};
        hold held = co_await fair_lock{holder.client, name}.acquire({.lease = 30s});
        // In time, while it stands there; and before it knows that it does.
        auto const waited = co_await mine.try_acquire_for(50ms);
        BOOST_TEST(!waited.has_value());
        bool const gone = co_await eventually([&] { return queued() == 0; }, 3s);
        BOOST_TEST(gone);
        at.network.hold_back(proxy::way::to_client, proxy::link::command);
        auto const unheard = co_await mine.try_acquire_for(50ms);
        BOOST_TEST(!unheard.has_value());
        bool const stands = co_await eventually([&] { return queued() == 1; });
        BOOST_TEST(stands);
        at.network.let_through();
        bool const also = co_await eventually([&] { return queued() == 0; }, 3s);
        BOOST_TEST(also);
        co_await held.release();
        stopwatch const watch;
        hold next = co_await fair_lock{holder.client, name}.acquire();
        BOOST_TEST(watch.ms() < 3'000);  // a place that is left would cost 5 s
        co_await next.release();
        bool const nothing = co_await eventually([&] { return !is_any_left(at.server(), name); });
        BOOST_TEST(nothing);
    });
}

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
                auto const none =
                    co_await fair_lock{c.client, name}.try_acquire_for(milliseconds{200 + i});
                BOOST_TEST(!none.has_value());
            });
        hold next;
        tasks stays{at.context()};
        stays.start([&]() -> asio::awaitable<void> {
            next = co_await fair_lock{c.client, name}.acquire();
        });
        co_await all.join(5s);
        bool const one =
            co_await eventually([&] { return at.server().ask("LLEN", keys.queue).number == 1; });
        BOOST_TEST(one);
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
        bool const nothing = co_await eventually([&] { return !is_any_left(at.server(), name); });
        BOOST_TEST(nothing);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
