// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Each line with a mark drops what it has just acquired, so that it is released at once. Clang has
// to refuse each of them, and no other line. For check_traps.py.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> drop_holds(colock::lock lock)
{
    co_await lock.acquire();               // [dropped]
    co_await lock.acquire({.lease = 3s});  // [dropped]
    co_await lock.try_acquire();           // [dropped]
    co_await lock.try_acquire_for(1s);     // [dropped]
    auto held = co_await lock.acquire();
    co_await held.give();  // [dropped]
    lock.acquire();        // [dropped]
    co_await held.release();
}

asio::awaitable<void> drop_permits(colock::permit_semaphore seats, colock::semaphore partner)
{
    co_await seats.acquire();                    // [dropped]
    co_await seats.try_acquire();                // [dropped]
    co_await seats.acquire_many(2);              // [dropped]
    co_await seats.try_acquire_many_for(1s, 2);  // [dropped]
    co_await partner.acquire();
    colock::permit_guard(partner, 1);  // [dropped]
}

asio::awaitable<void> drop_others(
    colock::client& redis,
    colock::claim claim,
    colock::election office,
    colock::read_write_lock both
)
{
    co_await redis.adopt(std::move(claim));               // [dropped]
    co_await office.campaign("words");                    // [dropped]
    co_await both.read().acquire();                       // [dropped]
    co_await colock::multi_lock{both.write()}.acquire();  // [dropped]
    co_await colock::acquire_many(redis, {"a", "b"});     // [dropped]
}

asio::awaitable<void> keep_all(colock::lock lock, colock::permit_semaphore seats)
{
    auto const held = co_await lock.acquire();
    if (auto const more = co_await lock.try_acquire_for(1s))
        co_return;
    if ((co_await lock.try_acquire()).has_value())
        co_return;
    auto const both = co_await seats.acquire_many(2);
}
