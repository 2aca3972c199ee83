// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A function that holds a lock calls one that takes the same lock.
//
//     6_re_entrance [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>

#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using tutorial::expect;

/// The value of the only field of the lock's hash.
asio::awaitable<std::string> depth(examples::raw_redis* server)
{
    return server->command("HVALS", "order");
}

// [methods
asio::awaitable<void> method2(colock::lock lock, colock::owner me, examples::raw_redis* server)
{
    std::optional<colock::hold> held = co_await lock.try_acquire({.as = me});
    expect(held.has_value(), "it is mine already");
    auto const inside = co_await depth(server);
    std::printf("2: in, the server says %s\n", inside.c_str());
    co_await held->release();
}

asio::awaitable<void> method1(colock::lock lock, examples::raw_redis* server)
{
    colock::owner const me;  // this task
    auto held = co_await lock.try_acquire_for(1s, {.as = me});
    if (!held)
        co_return;  // somebody else has it
    auto const before = co_await depth(server);
    std::printf("1: in, the server says %s\n", before.c_str());
    co_await method2(lock, me, server);
    auto const after = co_await depth(server);
    std::printf("1: still in, the server says %s\n", after.c_str());
    co_await held->release();
}
// methods]

// [nobody
asio::awaitable<void> without_owner(colock::lock lock)
{
    colock::hold outer = co_await lock.acquire();             // an owner of its own
    auto const inner = co_await lock.try_acquire_for(100ms);  // another one
    std::printf("without an owner: %s\n", inner ? "in again" : "it waits for itself");
    expect(!inner, "two calls are two owners");
    co_await outer.release();
}
// nobody]

// [order
asio::awaitable<void> in_any_order(colock::lock lock, examples::raw_redis* server)
{
    colock::owner const me;
    colock::hold first = co_await lock.acquire({.as = me});
    colock::hold second = co_await lock.acquire({.as = me});
    expect(first.fencing_token() == second.fencing_token(), "one ownership, one token");
    co_await first.release();  // the outer one first: the lock stays
    auto const count = co_await lock.hold_count(me);
    auto const left = co_await depth(server);
    std::printf(
        "one of two released: %lld hold, the server says %s\n", (long long)count, left.c_str()
    );
    co_await second.release();
    bool const locked = co_await lock.is_locked();
    std::printf("both released: %s\n", locked ? "locked" : "free");
}
// order]

asio::awaitable<void> with_a_lease(colock::lock lock)
{
    colock::owner const me;
    auto const outer = co_await lock.try_acquire_for(3s, {.lease = 1s, .as = me});
    auto const inner = co_await lock.try_acquire_for(3s, {.lease = 5s, .as = me});
    auto const left = co_await lock.remaining_lease();
    std::printf("with leases: %s\n", outer && inner ? "in, and in again" : "not in");
    expect(*left > 1s, "the longest lease among them");
}

// [twice
asio::awaitable<void> not_twice(colock::lock lock)
{
    colock::owner const me;
    colock::hold outer = co_await lock.acquire({.as = me});
    colock::acquire_options const once{.as = me, .re_entrant = false};
    auto const [failure, inner] = co_await lock.acquire(once, asio::as_tuple(asio::deferred));
    std::printf("not twice: %s\n", failure.message().c_str());
    expect(failure == colock::error::would_deadlock && !inner, "at once, and nothing is taken");
    co_await outer.release();
}
// twice]

asio::awaitable<void> lesson(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    auto server = co_await examples::raw_redis::connect(url);
    colock::lock const lock{redis, "order"};

    co_await method1(lock, &server);
    co_await without_owner(lock);
    co_await in_any_order(lock, &server);
    co_await with_a_lease(lock);
    co_await not_twice(lock);
    co_await redis.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
