// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A table of prices that many read at once, and one at a time changes.
//
//     read_write_lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

int price = 100;
int readers = 0;
int most_readers = 0;

asio::awaitable<void> pause(std::chrono::milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> send_report()
{
    most_readers = std::max(most_readers, ++readers);
    int const before = price;
    co_await pause(20ms);
    if (price != before)
        throw std::logic_error{"changed while somebody read"};
    --readers;
}

// [read
asio::awaitable<void> report(colock::read_write_lock prices)
{
    colock::hold reading = co_await prices.read().acquire();  // beside other readers
    co_await send_report();
    co_await reading.release();
}
// read]

// [write
asio::awaitable<void> raise(colock::read_write_lock prices)
{
    colock::hold writing = co_await prices.write().acquire();  // alone
    price += 10;
    co_await writing.release();
}
// write]

// [downgrade
asio::awaitable<void> raise_and_report(colock::read_write_lock prices)
{
    colock::owner const me;  // of both holds
    colock::hold writing = co_await prices.write().acquire({.as = me});
    price += 10;
    colock::hold reading = co_await prices.read().acquire({.as = me});
    co_await writing.release();  // other readers come in, no writer does
    co_await send_report();
    co_await reading.release();
}
// downgrade]

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    // [make
    colock::read_write_lock prices{redis, "prices"};
    // make]
    co_await (
        report(prices) && report(prices) && raise(prices) && raise_and_report(prices) &&
        report(prices)
    );
    std::printf("price %d, readers at once: %d\n", price, most_readers);
    if (price != 120 || most_readers < 2)
        throw std::logic_error{"not as expected"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
