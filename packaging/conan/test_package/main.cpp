// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Reads an address, and takes a lock without a server where colock::testing is there.
#include <colock/colock.hpp>
#ifdef WITH_TESTING
#    include <colock/testing.hpp>
#endif

namespace asio = boost::asio;

int main()
{
    if (colock::config::from_url("redis://localhost:6380").addresses.at(0).port != 6380)
        return 1;
#ifdef WITH_TESTING
    colock::testing::scripted_client redis;
    redis.run([](colock::client& c) -> asio::awaitable<void> {
        auto held = co_await colock::lock{c, "k"}.acquire();
        co_await held.release();
    }(redis));
    if (redis.times_acquired("k") != 1)
        return 1;
#endif
    return 0;
}
