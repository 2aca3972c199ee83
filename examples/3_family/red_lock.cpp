// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// One leader, named by most of three servers. Here all three are the same one.
//
//     red_lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client first{executor, colock::config::from_url(url)};
    colock::client second{executor, colock::config::from_url(url)};
    colock::client third{executor, colock::config::from_url(url)};
    first.run(asio::detached);
    second.run(asio::detached);
    third.run(asio::detached);
    // [lead
    colock::red_lock const leader{
        colock::lock{first, "leader:1"},
        colock::lock{second, "leader:2"},
        colock::lock{third, "leader:3"}};  // each a server of its own
    auto held = co_await leader.try_acquire_for(5s);
    // lead]
    if (!held || !held->valid_for(1s))
        throw std::logic_error{"nobody leads"};
    std::printf(
        "leading for %lld ms and longer\n",
        static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                   held->valid_until() - std::chrono::steady_clock::now()
        )
                                   .count())
    );
    co_await held->release();
    co_await first.close();
    co_await second.close();
    co_await third.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
