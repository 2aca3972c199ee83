// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A test of one's own, on the installed colock::testing: no server, no framework.
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdio>
#include <cstdlib>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using colock::testing::scripted_client;

namespace {

void check(bool is_so, char const* what)
{
    if (!is_so) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::exit(1);
    }
}

asio::awaitable<bool> busy(colock::client& redis)
{
    auto const held = co_await colock::lock{redis, "k"}.try_acquire_for(1min);
    co_return !held;
}

}  // namespace

int main()
{
    scripted_client redis;
    check(!redis.run(busy(redis)), "a lock that nobody has is taken");
    redis.occupy("k");
    check(redis.run(busy(redis)), "a lock that somebody has is not");
    check(redis.held().empty(), "all is given back");
}
