// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What docs/metrics.md begins with.
#include "integration/suites.hpp"
#include <colock/metrics.hpp>

#include <cstdio>
#include <memory>

namespace colock::test {

namespace {

asio::awaitable<metrics_snapshot> first_use(colock::config settings)
{
    auto const executor = co_await asio::this_coro::executor;
    // [switch_on
    auto const counted = std::make_shared<colock::metrics>();
    settings.observer = counted;  // before the client is made
    colock::client redis{executor, settings};
    counted->watch(redis);  // for what it is doing now: holds, waiters, connections
    redis.run(asio::detached);

    colock::hold held = co_await colock::lock{redis, "order:1"}.acquire();
    auto const now = counted->snapshot();
    std::printf("%zu held, %llu acquired\n", now.clients.holds, 0ULL + now.acquired());
    // switch_on]
    co_await held.release();
    co_await redis.close();
    co_return now;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(page)

BOOST_DATA_TEST_CASE(first_lines, each_server(), kind)
{
    redis_server server{kind};
    lab at{server};
    metrics_snapshot seen;
    at.run([&]() -> asio::awaitable<void> { seen = co_await first_use(at.settings()); });
    BOOST_TEST(seen.clients.holds == 1U);
    BOOST_TEST(seen.acquired() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
