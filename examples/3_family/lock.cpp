// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Ten orders of one customer, of which one at a time is worked on; each work ends when its lock is
// lost.
//
//     lock [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

int balance = 100;

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [work
asio::awaitable<void> charge(colock::lock account, int amount)
{
    co_await colock::with_lock(account, {}, [amount](colock::hold& held) -> asio::awaitable<void> {
        int const before = balance;
        co_await asio::post(asio::deferred);  // ask a database …
        if (!held.valid_for(50ms))            // … and before what can't be undone
            throw boost::system::system_error{colock::error::lost};
        balance = before - amount;
    });
}
// work]

asio::awaitable<bool> charge_soon(colock::lock account)
{
    // False: after two seconds somebody else still has it.
    co_return co_await colock::with_lock_for(
        account,
        2s,
        [](colock::hold&) -> asio::awaitable<void> {
            --balance;
            co_return;
        }
    );
}

asio::awaitable<void> withdraw(colock::hold& /*of the lock*/)
{
    --balance;
    co_return;
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> in_short(std::string url)
{
    // [short
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    colock::lock const account{redis, "account:7"};  // a name: nothing is sent
    co_await colock::with_lock(account, withdraw);   // waits, renews, cancels at a loss, releases
    // short]
    co_await redis.close();
}

asio::awaitable<void> example(std::string url)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    redis.run(asio::detached);
    // [make
    colock::lock const account{redis, "account:7"};  // a handle: nothing is sent
    // make]
    co_await (
        charge(account, 10) && charge(account, 20) && charge(account, 30) && charge_soon(account)
    );
    std::printf("left on the account: %d\n", balance);
    if (balance != 39)
        throw std::logic_error{"two at once"};
    co_await redis.close();
    co_await in_short(url);
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
