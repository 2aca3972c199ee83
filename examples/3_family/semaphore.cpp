// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Twelve requests, of which three at a time may reach a partner, counted over all processes.
//
//     semaphore [URL]        redis://127.0.0.1:6379 by default
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

constexpr int most = 3;
int inside = 0;

asio::awaitable<void> call_partner(int request)
{
    if (++inside > most)
        throw std::logic_error{"too many at once"};
    std::printf("request %d: one of %d\n", request, inside);
    asio::steady_timer work{co_await asio::this_coro::executor, 5ms};
    co_await work.async_wait(asio::deferred);
    --inside;
}

// [limit
asio::awaitable<void> limited(colock::semaphore partner, int request)
{
    // Waits while all are out, here or in other processes. The permit comes back on every way out:
    // it has no owner, so nobody else would give it back.
    co_await colock::with_permits(partner, 1, [request] { return call_partner(request); });
}
// limit]

asio::awaitable<void> requests(colock::semaphore partner, int from)
{
    for (int i = from; i != from + 2; ++i)
        co_await limited(partner, i);
}

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    // [make
    colock::semaphore partner{redis, "partner"};
    co_await partner.try_set_permits(most);  // the first process makes it
    // make]
    co_await (
        requests(partner, 0) && requests(partner, 2) && requests(partner, 4) &&
        requests(partner, 6) && requests(partner, 8) && requests(partner, 10)
    );
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
