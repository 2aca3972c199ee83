// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The code of users_code.hpp, tested with Boost.Test: got it, didn't, lost it in the middle.
#include "testing/users_code.hpp"
#include <colock/testing.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

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
    BOOST_TEST((redis.run(shop::pay(redis, "7", charge)) == outcome::busy));
}

BOOST_AUTO_TEST_SUITE_END()
