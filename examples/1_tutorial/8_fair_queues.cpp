// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Customers of two processes are served in the order in which they came.
//
//     8_fair_queues [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

// [customer
asio::awaitable<void> customer(colock::fair_lock counter, int number)
{
    colock::hold turn = co_await counter.acquire();  // behind all who came before, from anywhere
    std::printf("served: customer %d\n", number);
    co_await turn.release();  // tells the next one alone
}
// customer]

/// Waits until so many stand in the queue.
asio::awaitable<void> until_queued(std::string url, std::string count)
{
    auto server = co_await examples::raw_redis::connect(url);
    for (std::string now; now != count;) {
        co_await tutorial::pause(2ms);
        now = co_await server.command("LLEN", "redisson_lock_queue:{counter}");
    }
}

// [leaves
asio::awaitable<void> leaves(colock::fair_lock counter, std::string url, colock::hold closed)
{
    // The side that succeeds first cancels the other: here the acquire.
    co_await (counter.acquire(asio::use_awaitable) || until_queued(url, "5"));
    std::puts("five in the queue: one gives up and leaves it");
    co_await until_queued(url, "4");
    std::puts("four in the queue: the counter opens");
    co_await closed.release();
}
// leaves]

// [fails
asio::awaitable<void> in_a_hurry(colock::fair_lock counter)
{
    std::optional<colock::hold> const turn = co_await counter.try_acquire();  // does not queue
    std::puts(turn ? "in a hurry: served" : "in a hurry: not served, because others wait");
    expect(!turn, "nobody overtakes the queue");
}
// fails]

asio::awaitable<void> last_customer(colock::fair_lock counter)
{
    co_await in_a_hurry(counter);
    co_await customer(counter, 4);
}

asio::awaitable<void> after(std::string url, char const* queued, asio::awaitable<void> one)
{
    co_await until_queued(url, queued);
    co_await std::move(one);
}

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, colock::config::from_url(url)};
    colock::client b{executor, colock::config::from_url(url)};
    a.run(asio::detached);
    b.run(asio::detached);
    colock::fair_lock const here{a, "counter"};
    colock::fair_lock const there{b, "counter"};
    colock::hold closed = co_await here.acquire();

    co_await (
        customer(here, 1) && after(url, "1", leaves(there, url, std::move(closed))) &&
        after(url, "2", customer(there, 2)) && after(url, "3", customer(here, 3)) &&
        after(url, "4", last_customer(there))
    );
    auto server = co_await examples::raw_redis::connect(url);
    auto const left = co_await server.command("EXISTS", "redisson_lock_queue:{counter}");
    std::printf("queues left: %s\n", left.c_str());
    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
