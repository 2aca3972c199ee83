// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Three nodes start the same job by their own clocks; one of them runs it.
//
//     once_per [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

int reports = 0;

asio::awaitable<void> wait_for(std::chrono::milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> report(colock::hold& held)
{
    std::printf("the report, under the lock %s\n", held.name().c_str());
    ++reports;
    co_return;
}

// [job
/// Called on each node when its clock says so, which is not at the same moment.
asio::awaitable<void> on_the_hour(colock::client& redis)
{
    colock::lock const job{redis, "report"};
    bool const mine = co_await colock::once_per(job, 2s, report);
    std::printf("%s\n", mine ? "it was my turn" : "somebody has begun it in this period");
}
// job]

asio::awaitable<void> node(colock::client& redis, std::chrono::milliseconds late)
{
    co_await wait_for(late);
    co_await on_the_hour(redis);
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    co_await (node(redis, 0ms) && node(redis, 100ms) && node(redis, 500ms));
    if (reports != 1)
        throw std::logic_error{"not once"};
    co_await wait_for(2s);
    co_await (node(redis, 0ms) && node(redis, 100ms));
    if (reports != 2)
        throw std::logic_error{"not once in the next period"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
