// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Waiting for a lock that somebody else holds: not at all, for some time, until cancelled, until it
// is free.
//
//     2_waiting [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
using tutorial::expect;

// [order
asio::awaitable<bool> order_voucher(colock::lock one_order)
{
    std::optional<colock::hold> held = co_await one_order.try_acquire();
    if (!held)
        co_return false;  // this user has an order under way: don't wait, refuse
    co_await tutorial::pause(20ms);
    co_await held->release();
    co_return true;
}
// order]

asio::awaitable<void> order_twice(colock::lock here, colock::lock there)
{
    auto const [first, second] = co_await (order_voucher(here) && order_voucher(there));
    std::printf("orders: %d accepted, %d refused\n", first + second, 2 - first - second);
    expect(first + second == 1, "one order of two");
}

// [limit
asio::awaitable<void> wait_for_some_time(colock::lock door)
{
    tutorial::stopwatch const waited;
    auto const held = co_await door.try_acquire_for(200ms);
    std::printf("with a limit: %s after ~%lld ms\n", held ? "in" : "not in", waited.ms());
    expect(!held && waited.ms() >= 200, "the wait runs out");
}
// limit]

// [cancel
asio::awaitable<void> wait_until_cancelled(colock::lock door)
{
    tutorial::stopwatch const waited;
    // The first that succeeds cancels the other. Any cancellation of Asio does the same.
    auto const first = co_await (door.acquire(asio::use_awaitable) || tutorial::pause(100ms));
    expect(first.index() == 1, "the door is closed");
    std::printf("cancelled: not in after ~%lld ms\n", waited.ms());
}
// cancel]

// [both
asio::awaitable<void> leave(colock::hold held)
{
    co_await tutorial::pause(50ms);
    std::puts("A leaves");
    co_await held.release();
}

asio::awaitable<void> enter(colock::lock door)
{
    colock::hold held = co_await door.acquire();  // told by a message, not by asking
    std::puts("B is in");
    co_await held.release();
}
// both]

asio::awaitable<void> lesson(std::string url)
{
    // Two clients, as two processes have them.
    auto const executor = co_await asio::this_coro::executor;
    colock::client a{executor, colock::config::from_url(url)};
    colock::client b{executor, colock::config::from_url(url)};
    a.run(asio::detached);
    b.run(asio::detached);

    colock::lock const order_at_a{a, "order:user:7"};
    colock::lock const order_at_b{b, "order:user:7"};
    co_await order_twice(order_at_a, order_at_b);

    colock::lock door_of_a{a, "door"};
    colock::lock door_of_b{b, "door"};
    colock::hold held = co_await door_of_a.acquire();
    std::puts("A is in");
    co_await wait_for_some_time(door_of_b);
    co_await wait_until_cancelled(door_of_b);
    std::printf("who waits now: %zu\n", b.stats().waiters);
    co_await (leave(std::move(held)) && enter(door_of_b));

    co_await b.close();
    co_await a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
