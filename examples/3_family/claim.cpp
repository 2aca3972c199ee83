// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A lock travels with a job from one process to another, here from one client to another.
//
//     claim [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

std::set<std::string> shipped;  // the table of a database

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [give
/// The web server. Its result goes to the worker, together with the job.
asio::awaitable<std::string> check(colock::lock order, std::chrono::milliseconds way)
{
    colock::hold held = co_await order.acquire();
    std::printf("web server: checked %s\n", held.name().c_str());
    co_await held.extend(way);  // the time that the job may spend in the queue
    colock::claim const claim = co_await held.give();
    co_return claim.to_string();  // nobody holds the lock now, and it stays taken
}
// give]

// [adopt
asio::awaitable<colock::hold> take_over(colock::client& redis, colock::claim claim)
{
    auto [ec, held] = co_await redis.adopt(claim, asio::as_tuple(asio::deferred));
    if (ec == colock::error::claim_gone) {  // the job came twice, or too late
        std::printf("worker: the claim is gone\n");
        held = co_await colock::lock{redis, claim.name}.acquire();
    } else if (ec)
        throw boost::system::system_error{ec};
    co_return std::move(held);
}

asio::awaitable<void> ship(colock::client& redis, std::string job)
{
    std::optional<colock::claim> const claim = colock::claim::parse(job);
    if (!claim)
        throw std::invalid_argument{"not a claim: " + job};
    colock::hold held = co_await take_over(redis, *claim);
    bool const is_new = shipped.insert(claim->name).second;  // under the lock
    std::printf("worker: %s %s\n", claim->name.c_str(), is_new ? "shipped" : "was shipped before");
    co_await held.release();
}
// adopt]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    auto const here = co_await asio::this_coro::executor;
    auto const settings = colock::config::from_url(url);
    colock::client web_server{here, settings}, worker{here, settings};
    web_server.run(asio::detached);
    worker.run(asio::detached);

    colock::lock const order{web_server, "order:7"};
    std::string const job = co_await check(order, 1min);
    if (co_await order.try_acquire())
        throw std::logic_error{"a lock that travels is free"};
    co_await ship(worker, job);
    co_await ship(worker, job);  // the queue delivers the job twice

    std::string const late = co_await check(colock::lock{web_server, "order:8"}, 200ms);
    asio::steady_timer queue{here, 300ms};
    co_await queue.async_wait(asio::deferred);
    co_await ship(worker, late);

    co_await web_server.close();
    co_await worker.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
