// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A report waits until all shards are loaded, wherever they are.
//
//     countdown_latch [URL]        redis://127.0.0.1:6379 by default
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

constexpr int shards = 3;
int loaded_here = 0;

// [shard
asio::awaitable<void> load_shard(colock::countdown_latch loaded, int shard)
{
    asio::steady_timer work{co_await asio::this_coro::executor, shard * 5ms};
    co_await work.async_wait(asio::deferred);
    ++loaded_here;
    co_await loaded.count_down();
}
// shard]

// [report
asio::awaitable<void> report(colock::countdown_latch loaded)
{
    while (!co_await loaded.wait_for(1s)) {
        auto const missing = co_await loaded.count();
        std::printf("still %d to load\n", static_cast<int>(missing));
    }
    std::printf("all are loaded\n");
}
// report]

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    // [set
    colock::countdown_latch loaded{redis, "report:2024-06:loaded"};
    co_await loaded.try_set_count(shards);  // before anybody counts or waits
    // set]
    co_await (
        report(loaded) && load_shard(loaded, 1) && load_shard(loaded, 2) && load_shard(loaded, 3)
    );
    if (loaded_here != shards)
        throw std::logic_error{"the latch was open too soon"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
