// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Takes a lock without a server.
#include <colock/colock.hpp>
#include <colock/testing.hpp>

namespace asio = boost::asio;

int main()
{
    colock::testing::scripted_client redis;
    redis.run([](colock::client& c) -> asio::awaitable<void> {
        auto held = co_await colock::lock{c, "k"}.acquire();
        co_await held.release();
    }(redis));
    return redis.times_acquired("k") == 1 ? 0 : 1;
}
