// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What somebody has written who uses colock: it knows nothing of tests.
#pragma once

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace shop {

namespace asio = boost::asio;

enum class outcome { paid, busy, lost };

using charge = std::function<asio::awaitable<void>(std::string order)>;

/// Charges an order, under its lock, unless somebody else does for longer than two seconds.
inline asio::awaitable<outcome> pay(colock::client& redis, std::string order, charge pays)
{
    colock::lock lock{redis, "order:" + order};
    auto held = co_await lock.try_acquire_for(std::chrono::seconds{2});
    if (!held)
        co_return outcome::busy;
    co_await pays(order);
    if (!held->valid_for(std::chrono::milliseconds{100}))
        co_return outcome::lost;
    co_await held->release();
    co_return outcome::paid;
}

/// Waits as long as it takes; the charging is cancelled when the lock is lost.
inline asio::awaitable<void> pay_at_last(colock::client& redis, std::string order, charge pays)
{
    co_await colock::with_lock(colock::lock{redis, "order:" + order}, [&](colock::hold&) {
        return pays(order);
    });
}

}  // namespace shop
