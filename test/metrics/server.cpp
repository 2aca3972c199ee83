// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What `metrics` counts of clients at a real server.
#include "integration/suites.hpp"
#include <colock/metrics.hpp>

#include <memory>

namespace colock::test {

namespace {

std::shared_ptr<metrics> count(config& of)
{
    auto counted = std::make_shared<metrics>();
    of.observer = counted;
    return counted;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(counted_at_a_server)

BOOST_DATA_TEST_CASE(two_clients_share_a_lock, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    auto settings = at.settings();
    auto const counted = count(settings);
    auto& a = at.connect(settings);
    auto& b = at.connect(settings);
    counted->watch(a.client);
    counted->watch(b.client);
    constexpr int tasks_each = 5, turns = 10;
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("shared");
        section inside;
        tasks all{at.context()};
        for (int i = 0; i != 2 * tasks_each; ++i)
            all.start([&, i]() -> asio::awaitable<void> {
                lock const mine{(i % 2 ? a : b).client, name};
                for (int turn = 0; turn != turns; ++turn) {
                    hold held = co_await mine.acquire();
                    co_await inside.stay(1ms);
                    co_await held.release();
                }
            });
        bool const shows = co_await eventually([&] {
            auto const now = counted->snapshot().clients;
            return now.holds == 1 && now.waiters > 2;
        });
        BOOST_TEST(shows);
        co_await all.join(15s);
    });
    auto const after = counted->snapshot();
    std::uint64_t const sections = 2 * tasks_each * turns;
    BOOST_TEST(after.acquired() == sections);
    BOOST_TEST(after.released() == sections);
    BOOST_TEST(after.handed_over_here > 0U);
    BOOST_TEST(after.handed_over_there > 0U);
    BOOST_TEST(after.waits > 0U);
    BOOST_TEST((after.held.sum >= sections * 1ms));
    BOOST_TEST(after.clients.holds == 0U);
    BOOST_TEST(after.clients.waiters == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
