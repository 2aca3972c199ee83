// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Transfers between accounts in both directions, each under the locks of both.
//
//     multi_lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

std::map<std::string, int> accounts{{"ann", 100}, {"bob", 100}};

// [transfer
asio::awaitable<void> transfer(colock::lock from, colock::lock to)
{
    colock::multi_lock const both{from, to};
    colock::hold held = co_await both.acquire();  // whichever way round: no deadlock
    accounts[from.name()] -= 10;
    accounts[to.name()] += 10;
    co_await held.release();
}
// transfer]

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    colock::lock const ann{redis, "ann"};
    colock::lock const bob{redis, "bob"};
    co_await (transfer(ann, bob) && transfer(bob, ann) && transfer(ann, bob) && transfer(bob, ann));
    std::printf("ann %d, bob %d\n", accounts["ann"], accounts["bob"]);
    if (accounts["ann"] != 100)
        throw std::logic_error{"a transfer was lost"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
