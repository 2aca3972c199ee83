// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A server gets SIGTERM while it works under a lock and waits for another.
//
//     11_shutting_down [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>

#include <csignal>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): they outlive it
// [work
asio::awaitable<void> one_order_after_the_other(colock::hold& /*held*/)
{
    for (;;)
        co_await tutorial::pause(5ms);
}

asio::awaitable<std::string> work(colock::lock shard)
{
    try {
        co_await colock::with_lock(shard, one_order_after_the_other);
        co_return "done";
    } catch (boost::system::system_error const& e) {
        co_return e.code().message();
    }
}
// work]

asio::awaitable<std::string> wait(colock::lock taken)
{
    auto const [failure, held] = co_await taken.acquire(asio::as_tuple(asio::deferred));
    co_return failure ? failure.message() : "in";
}

// [signal
asio::awaitable<void> until_told(colock::client& redis)
{
    asio::signal_set signals{co_await asio::this_coro::executor, SIGINT, SIGTERM};
    co_await signals.async_wait(asio::deferred);
    std::printf("SIGTERM: %zu held, %zu waiting\n", redis.stats().holds, redis.stats().waiters);
    auto const [failure] = co_await redis.close(asio::as_tuple(asio::deferred));
    std::printf("closed: %s\n", failure ? failure.message().c_str() : "all is released");
}
// signal]

/// Takes the part of the supervisor that stops the server.
asio::awaitable<void> send_signal(colock::client& redis)
{
    while (redis.stats().holds == 0 || redis.stats().waiters == 0)
        co_await tutorial::pause(5ms);
    std::raise(SIGTERM);
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

/// Takes the part of a server that answers nothing for this time.
asio::awaitable<void> stand_still(std::string url, std::string ms)
{
    auto server = co_await examples::raw_redis::connect(url);
    co_await server.command("CLIENT", "PAUSE", ms, "ALL");
}

asio::awaitable<void> until_gone(std::string url, std::string key)
{
    auto server = co_await examples::raw_redis::connect(url);
    while (co_await server.command("EXISTS", key) != "0")
        co_await tutorial::pause(20ms);
}

// [fails
asio::awaitable<void> close_in_vain(std::string url)
{
    auto settings = colock::config::from_url(url);
    settings.close_timeout = 200ms;  // less than a supervisor waits before it sends SIGKILL
    settings.lease = 1s;
    colock::client redis{co_await asio::this_coro::executor, settings};
    redis.run(asio::detached);
    colock::hold held = co_await colock::lock{redis, "shard:2"}.acquire();
    co_await stand_still(url, "600");
    tutorial::stopwatch const since;
    auto const [failure] = co_await redis.close(asio::as_tuple(asio::deferred));
    std::printf("the server stands still: %s\n", failure.message().c_str());
    expect(failure == colock::error::unavailable, "nobody has confirmed the release");
    expect(since.ms() < 500, "close() does not wait for the server longer than that");
    co_await until_gone(url, "shard:2");
    std::puts("the lease has ended: gone");
}
// fails]

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client other{executor, colock::config::from_url(url)};
    other.run(asio::detached);
    colock::hold elsewhere = co_await colock::lock{other, "taken"}.acquire();

    // [all
    colock::client redis{executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    colock::lock const shard{redis, "shard:1"};
    colock::lock const taken{redis, "taken"};
    auto const [worker, waiter] =
        co_await (until_told(redis) && send_signal(redis) && work(shard) && wait(taken));
    std::printf("the worker: %s\nthe waiter: %s\n", worker.c_str(), waiter.c_str());
    // all]
    auto server = co_await examples::raw_redis::connect(url);
    auto const left = co_await server.command("EXISTS", "shard:1");
    std::printf("the shard's lock at the server: %s\n", left == "0" ? "gone" : "there");
    expect(left == "0", "released before the end");
    co_await elsewhere.release();
    co_await other.close();
    co_await close_in_vain(url);
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
