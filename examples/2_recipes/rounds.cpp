// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Two workers do many small rounds under one lock, and each takes the lock for a turn of many
// rounds. In the middle somebody forces the lock, and the data refuses what the worker does after
// that.
//
//     rounds [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

constexpr int rounds_each = 400;

asio::awaitable<void> pause(std::chrono::milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

/// The data of the rounds. It refuses a worker that another one has followed.
struct ledger {
    std::uint64_t newest = 0;
    int rounds = 0;

    bool add(std::uint64_t token)
    {
        if (token < newest)
            return false;
        newest = token;
        ++rounds;
        return true;
    }
};

struct worker {
    worker(asio::any_io_executor executor, std::string const& url)
        : redis{executor, colock::config::from_url(url)}
    {
        redis.run(asio::detached);
    }

    colock::client redis;
    int left = rounds_each;
    int turns = 0;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [work
asio::awaitable<void> work(worker& self, ledger& data)
{
    colock::lock const lock{self.redis, "ledger"};
    while (self.left != 0) {
        colock::hold held = co_await lock.acquire();
        ++self.turns;
        auto const end = std::chrono::steady_clock::now() + 20ms;  // of this turn
        while (self.left != 0 && std::chrono::steady_clock::now() < end && held.valid_for(10ms)) {
            if (!data.add(held.fencing_token()))
                break;  // another worker has the lock
            --self.left;
            co_await pause(1ms);  // the work of a round
        }
        // The others have their turn now. error::lost: they may have had it before.
        co_await held.release(asio::as_tuple(asio::deferred));
    }
}
// work]

asio::awaitable<void> force(colock::lock lock)
{
    co_await pause(110ms);
    co_await lock.force_release();
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    worker a{executor, url};
    worker b{executor, url};
    ledger data;
    co_await (work(a, data) && work(b, data) && force(colock::lock{b.redis, "ledger"}));
    if (data.rounds != 2 * rounds_each)
        throw std::logic_error{"a round was lost, or counted twice"};
    if (a.turns + b.turns >= data.rounds)
        throw std::logic_error{"an acquire for each round"};
    std::printf("%d rounds, each of them once, and fewer acquires\n", data.rounds);
    co_await a.redis.close();
    co_await b.redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
