// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// From a lock by SET NX PX to colock's, while processes of both versions run.
//
//     migration [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using examples::raw_redis;

void expect(bool as_told, char const* what)
{
    if (!as_told)
        throw std::logic_error{std::string{"not as told: "} + what};
}

using work = std::function<asio::awaitable<void>()>;

std::string const old_name = "lock:order:42";  // a string: SET NX PX
std::string const new_name = "order:42";       // a hash: colock and Redisson

char const* const delete_if_mine = R"(
    if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
    return 0)";

asio::awaitable<bool> try_old(raw_redis* server, std::string me)
{
    co_return co_await server->command("SET", old_name, me, "NX", "PX", "60000") == "OK";
}

asio::awaitable<void> release_old(raw_redis* server, std::string me)
{
    co_await server->command("EVAL", delete_if_mine, "1", old_name, me);
}

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [both
/// The version between: it excludes the old version and the new one. False: busy.
asio::awaitable<bool> under_both(raw_redis* server, colock::lock lock, std::string me, work charge)
{
    bool done = false;
    std::exception_ptr failure;
    try {
        if (!co_await try_old(server, me))  // 1. the old lock, in all processes first
            co_return false;
        auto const under = [&](colock::hold&) { return charge(); };
        done = co_await colock::with_lock_for(lock, 200ms, under);  // 2. colock's
    } catch (...) {  // also of try_old, whose SET may have taken effect
        failure = std::current_exception();
    }
    // 3. The old lock goes last and on every way out, also when this coroutine is being cancelled.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    try {
        co_await release_old(server, me);
    } catch (std::exception const& e) {  // does not hide whether the work was done
        std::fprintf(stderr, "%s stays until its lease ends: %s\n", old_name.c_str(), e.what());
    }
    co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
    if (failure)
        std::rethrow_exception(failure);
    co_return done;
}
// both]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> nothing() { co_return; }

asio::awaitable<void> expect_both_free(raw_redis* server, colock::lock lock)
{
    expect(co_await server->command("EXISTS", old_name) == "0", "the old lock is free");
    // A hold that ends with its scope is released in the background.
    auto const held = co_await lock.try_acquire_for(1s);
    expect(held.has_value(), "colock's is free");
}

asio::awaitable<void> same_name(raw_redis* server, colock::client* redis)
{
    co_await try_old(server, "old version");
    colock::lock const lock{*redis, old_name};  // the name that SET NX uses
    auto const [ec, held] = co_await lock.try_acquire(asio::as_tuple(asio::deferred));
    auto const value = co_await server->command("GET", old_name);
    std::printf(
        "the same name: %s, and the key is still \"%s\"\n",
        ec == colock::error::wrong_type ? "error::wrong_type" : "?",
        value.c_str()
    );
    co_await release_old(server, "old version");
}

asio::awaitable<void> while_both_run(raw_redis* server, colock::lock lock)
{
    bool done = co_await under_both(server, lock, "me", nothing);
    std::printf("under both locks: %s\n", done ? "charged" : "busy");
    co_await expect_both_free(server, lock);

    co_await try_old(server, "old version");
    done = co_await under_both(server, lock, "me", nothing);
    std::printf("the old version has its lock: %s\n", done ? "charged" : "busy");
    co_await release_old(server, "old version");

    auto held = co_await lock.acquire();  // as the new version does
    done = co_await under_both(server, lock, "me", nothing);
    std::printf("the new version has colock's: %s\n", done ? "charged" : "busy");
    co_await held.release();
    co_await expect_both_free(server, lock);
}

asio::awaitable<void> when_the_work_fails(raw_redis* server, colock::lock lock)
{
    std::string said;
    try {
        co_await under_both(server, lock, "me", []() -> asio::awaitable<void> {
            throw std::runtime_error{"card refused"};
            co_return;
        });
    } catch (std::runtime_error const& e) {
        said = e.what();
    }
    co_await expect_both_free(server, lock);
    std::printf("the work throws: %s, both locks are free\n", said.c_str());

    asio::cancellation_signal cancel;
    auto const hangs = [&cancel]() -> asio::awaitable<void> {
        auto const here = co_await asio::this_coro::executor;
        asio::post(here, [&] { cancel.emit(asio::cancellation_type::terminal); });
        asio::steady_timer long_work{here, 1min};
        co_await long_work.async_wait(asio::deferred);
    };
    asio::steady_timer end{co_await asio::this_coro::executor, 1min};
    bool was_cancelled = false;
    auto const ended = [&](std::exception_ptr failure, bool) {
        was_cancelled = failure != nullptr;
        end.cancel();
    };
    asio::co_spawn(
        co_await asio::this_coro::executor,
        under_both(server, lock, "me", hangs),
        asio::bind_cancellation_slot(cancel.slot(), ended)
    );
    colock::error_code ec;
    co_await end.async_wait(asio::redirect_error(asio::deferred, ec));
    expect(was_cancelled, "the work is cancelled");
    co_await expect_both_free(server, lock);
    std::printf("cancelled in the middle: both locks are free\n");
}

asio::awaitable<void> sleep_for(std::chrono::milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> charge_and_sleep(raw_redis* server, colock::lock lock)
{
    co_await under_both(server, lock, "me", nothing);
    co_await sleep_for(1h);
}

/// A coroutine that has been under both locks can be cancelled like any other.
asio::awaitable<void> cancelled_afterwards(raw_redis* server, colock::lock lock)
{
    using namespace asio::experimental::awaitable_operators;
    co_await (charge_and_sleep(server, lock) || sleep_for(200ms));
    co_await expect_both_free(server, lock);
}

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    raw_redis server = co_await raw_redis::connect(url);
    co_await same_name(&server, &redis);
    co_await while_both_run(&server, {redis, new_name});
    co_await when_the_work_fails(&server, {redis, new_name});
    co_await cancelled_afterwards(&server, {redis, new_name});
    co_await redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
