// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Many short sections under many names, nothing subscribed.
//
//     spin_lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

int pages = 0;

// [count
asio::awaitable<void> count(colock::spin_lock lock)
{
    colock::hold held = co_await lock.acquire();  // pauses 2, 4, 8, 16, 20, 20 … ms, less by chance
    ++pages;
    co_await held.release();
}
// count]

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client one{executor, colock::config::from_url(url)};
    colock::client two{executor, colock::config::from_url(url)};
    one.run(asio::detached);
    two.run(asio::detached);
    // [make
    colock::spin_lock const lock{one, "page:17", colock::backoff{2ms, 20ms, 2}};
    // make]
    colock::spin_lock const same{two, "page:17", colock::backoff{2ms, 20ms, 2}};
    co_await (count(lock) && count(same) && count(lock) && count(same));
    std::printf("pages: %d, subscriptions: %zu\n", pages, one.stats().subscriptions);
    if (pages != 4 || one.stats().subscriptions != 0)
        throw std::logic_error{"not as expected"};
    co_await one.close();
    co_await two.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
