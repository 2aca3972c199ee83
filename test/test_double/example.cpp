// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Code that uses colock and knows nothing of tests, and its tests with Boost.Test: got it, didn't,
// lost it in the middle.
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

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

using colock::testing::scripted_client;
using shop::outcome;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> charge(std::string) { co_return; }

asio::awaitable<void> charge_for_hours(std::string)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, 12h};
    co_await timer.async_wait(asio::deferred);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(example)

BOOST_AUTO_TEST_CASE(pays_when_nobody_else_does)
{
    scripted_client redis;
    BOOST_TEST((redis.run(shop::pay(redis, "7", charge)) == outcome::paid));
    BOOST_TEST(redis.times_acquired("order:7") == 1U);
    BOOST_TEST(redis.held().empty());
}

BOOST_AUTO_TEST_CASE(says_busy_when_somebody_else_has_it_for_too_long)
{
    scripted_client redis;
    redis.occupy("order:7");
    BOOST_TEST((redis.run(shop::pay(redis, "7", charge)) == outcome::busy));
    BOOST_TEST(redis.times_acquired("order:7") == 0U);
}

BOOST_AUTO_TEST_CASE(waits_for_somebody_else)
{
    scripted_client redis;
    redis.occupy("order:7", 1s);
    BOOST_TEST((redis.run(shop::pay(redis, "7", charge)) == outcome::paid));
}

BOOST_AUTO_TEST_CASE(stops_charging_when_the_lock_is_lost)
{
    scripted_client redis;
    auto const lose_it = [&](std::string order) {
        redis.lose("order:" + order);
        return charge_for_hours(order);
    };
    BOOST_CHECK_EXCEPTION(
        redis.run(shop::pay_at_last(redis, "7", lose_it)),
        boost::system::system_error,
        [](auto const& e) { return e.code() == colock::error::lost; }
    );
    BOOST_TEST(redis.times_lost("order:7") == 1U);
}

BOOST_AUTO_TEST_CASE(notices_that_it_was_asleep_for_too_long)
{
    scripted_client redis;
    auto const fall_asleep = [&](std::string order) {
        redis.freeze(1min);
        return charge(order);
    };
    BOOST_TEST((redis.run(shop::pay(redis, "7", fall_asleep)) == outcome::lost));
}

BOOST_AUTO_TEST_CASE(says_that_there_is_no_server)
{
    scripted_client redis;
    redis.disconnect();
    BOOST_CHECK_THROW(redis.run(shop::pay(redis, "7", charge)), boost::system::system_error);
}

BOOST_AUTO_TEST_SUITE_END()
