// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A program of one's own: the first lines of the README, and what runs them.
// [first
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdio>

namespace asio = boost::asio;

asio::awaitable<void> pay(std::string url, std::string order)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    colock::lock lock{redis, "order:" + order};  // nothing is sent yet

    colock::hold held = co_await lock.acquire();  // connects, waits its turn; then renewed
    std::printf("charged, with token %ld\n", long(held.fencing_token()));
    co_await held.release();  // the next one gets in
    co_await redis.close();
}

int main(int argc, char** argv)
{
    asio::io_context io;
    auto paid = co_spawn(io, pay(argc > 1 ? argv[1] : "redis://localhost", "42"), asio::use_future);
    io.run();
    paid.get();  // throws what went wrong
}
// first]
