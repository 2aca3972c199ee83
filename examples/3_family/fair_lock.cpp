// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Customers of two processes queue at one counter, and are served in the order of their arrival.
//
//     fair_lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

int served = 0;

asio::awaitable<void> pause(std::chrono::milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> serve(int customer)
{
    std::printf("customer %d\n", customer);
    if (customer != ++served)
        throw std::logic_error{"out of turn"};
    co_await pause(5ms);
}

// [queue
asio::awaitable<void> queue_up(colock::fair_lock counter, int customer)
{
    colock::hold turn = co_await counter.acquire();  // behind all who came before, from anywhere
    co_await serve(customer);
    co_await turn.release();  // tells the next one, and nobody else
}
// queue]

// [patience
asio::awaitable<bool> queue_for_a_while(colock::fair_lock counter, int customer)
{
    std::optional<colock::hold> turn = co_await counter.try_acquire_for(50ms);
    if (!turn)
        co_return false;  // the place in the queue is gone, and those behind have moved up
    co_await serve(customer);
    co_await turn->release();
    co_return true;
}
// patience]

/// Arrives after this time.
asio::awaitable<void> after(std::chrono::milliseconds time, colock::fair_lock counter, int customer)
{
    co_await pause(time);
    co_await queue_up(counter, customer);
}

asio::awaitable<void> give_up(colock::fair_lock counter)
{
    co_await pause(30ms);
    bool const had_a_turn = co_await queue_for_a_while(counter, 0);
    if (had_a_turn)
        throw std::logic_error{"he should have had no patience"};
}

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client here{executor, colock::config::from_url(url)};
    colock::client there{executor, colock::config::from_url(url)};
    here.run(asio::detached);
    there.run(asio::detached);
    // [make
    colock::fair_lock counter{here, "counter"};
    // make]
    colock::fair_lock same_counter{there, "counter"};
    colock::hold closed = co_await counter.acquire();
    auto const open = [&]() -> asio::awaitable<void> {
        co_await pause(120ms);
        co_await closed.release();
    };
    co_await (
        open() && give_up(counter) && after(20ms, counter, 1) && after(40ms, same_counter, 2) &&
        after(60ms, same_counter, 3) && after(80ms, counter, 4)
    );
    co_await there.close();
    co_await here.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
