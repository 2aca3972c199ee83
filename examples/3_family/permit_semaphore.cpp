// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Two seats of a licence. A process keeps its seat while it lives; the seat of a dead process comes
// back.
//
//     permit_semaphore [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> simulate()
{
    asio::steady_timer work{co_await asio::this_coro::executor, 20ms};
    co_await work.async_wait(asio::deferred);
}

// [seat
asio::awaitable<bool> work_on_a_seat(colock::permit_semaphore seats)
{
    std::optional<colock::permit> seat = co_await seats.try_acquire_for(100ms);
    if (!seat)
        co_return false;  // all are out
    std::printf("on seat %s\n", seat->id().c_str());
    co_await simulate();       // the permit is renewed meanwhile
    co_await seat->release();  // forgotten, or thrown past: it is released in the background
    co_return true;
}
// seat]

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [with_lock
asio::awaitable<void> work_until_lost(colock::permit_semaphore seats)
{
    // Cancels the work when the permit is lost, and releases it on every way out.
    co_await colock::with_lock(seats, [](colock::permit&) -> asio::awaitable<void> {
        co_await simulate();
    });
}
// with_lock]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

// [several
asio::awaitable<bool> render(colock::permit_semaphore seats)
{
    // Both or none: two tasks that each have one and wait for the other's can't happen.
    std::vector<colock::permit> const both = co_await seats.try_acquire_many_for(100ms, 2);
    if (both.empty())
        co_return false;
    co_await simulate();
    co_return true;
}
// several]

asio::awaitable<bool> take_back(colock::permit_semaphore seats, std::string id)
{
    co_return co_await seats.release(id);  // false: nobody has it any more
}

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    colock::permit_semaphore seats{redis, "seats"};
    co_await seats.try_set_permits(2);

    // One that ends by itself after a second: nobody has to give it back.
    colock::permit const leased = co_await seats.acquire({.lease = 1s});
    bool const worked = co_await work_on_a_seat(seats);
    co_await work_until_lost(seats);
    auto const left = co_await seats.available();
    std::printf("%s; %d left\n", worked ? "worked" : "none was free", static_cast<int>(left));

    // An operator gives the leased one back, and sells another seat.
    bool const is_back = co_await take_back(seats, leased.id());
    co_await seats.set_permits(3);
    bool const rendered = co_await render(seats);
    auto const all = co_await seats.permits();
    std::printf(
        "%s, %s; %d in all\n",
        is_back ? "taken back" : "gone",
        rendered ? "rendered" : "too few",
        static_cast<int>(all)
    );
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
