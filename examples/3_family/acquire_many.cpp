// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An order is taken with all its items; a worker takes as many jobs as are free.
//
//     acquire_many [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using names = std::vector<std::string>;

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): they outlive it
/// All of them or none, whatever order others name them in.
asio::awaitable<void> sell(colock::client& redis, names items)
{
    colock::held_locks held = co_await colock::acquire_many(redis, std::move(items));
    std::printf("sold: %zu items\n", held.size());
    co_await held.release();
}

// [free
/// Does the jobs that nobody has; it does not wait.
asio::awaitable<std::size_t> work(colock::client& redis, names jobs)
{
    auto mine = co_await colock::acquire_many(redis, std::move(jobs), {.take = colock::many::free});
    for (colock::hold& job : mine)
        if (job)
            std::printf("does %s\n", job.name().c_str());
    auto const done = mine.held();
    co_await mine.release();
    co_return done;
}
// free]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    names const items{"item:7", "item:42", "item:9"};
    co_await sell(redis, items);
    colock::hold const busy = co_await colock::lock{redis, "job:2"}.acquire();
    names const jobs{"job:1", "job:2", "job:3"};
    if (co_await work(redis, jobs) != 2)
        throw std::logic_error{"job:2 is somebody else's"};
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
