// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A job that tries again after errors that pass. In the program Redis has no memory at first.
//
//     retry [URL]        redis://127.0.0.1:6379 by default; its maxmemory is changed
#include "../raw_redis.hpp"
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using std::chrono::milliseconds;

using job = std::function<asio::awaitable<void>(colock::hold&)>;

// The arguments of these coroutines outlive them: each is awaited where it is called.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

// [retry
/// Runs the job under the lock, and tries again after errors that pass: after 0.1 s, then after
/// twice as long, at most 10 s, each shortened by chance, so that not all processes come at once.
/// The number of tries.
asio::awaitable<int> run_with_retries(colock::lock lock, job work)
{
    std::minstd_rand chance{std::random_device{}()};
    milliseconds pause{100};
    for (int tries = 1;; ++tries) {
        try {
            co_await colock::with_lock(lock, work);
            co_return tries;
        } catch (boost::system::system_error const& e) {
            if (e.code() != colock::condition::retryable)
                throw;  // lost, closed, and what no pause cures
        }
        std::uniform_int_distribution part{pause.count() / 2, pause.count()};
        asio::steady_timer timer{co_await asio::this_coro::executor, milliseconds{part(chance)}};
        co_await timer.async_wait(asio::deferred);
        pause = std::min(pause * 2, milliseconds{10'000});
    }
}
// retry]

asio::awaitable<void> mend(examples::raw_redis server)
{
    asio::steady_timer later{co_await asio::this_coro::executor, 500ms};
    co_await later.async_wait(asio::deferred);
    std::puts("Redis has memory again");
    co_await server.command("CONFIG", "SET", "maxmemory", "0");
}

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    co_await redis.ping();
    auto server = co_await examples::raw_redis::connect(url);
    co_await server.command("CONFIG", "SET", "maxmemory", "1");
    job const report = [](colock::hold&) -> asio::awaitable<void> {
        std::puts("the job runs");
        co_return;
    };
    colock::lock const lock{redis, "report"};
    int const tries = co_await (run_with_retries(lock, report) && mend(std::move(server)));
    std::puts(tries > 1 ? "it took several tries" : "it took one try");
    if (tries == 1)
        throw std::logic_error{"no refusal"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)
