// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a scripted client promises beside what each lock does.
#include <colock/colock.hpp>
#include <colock/metrics.hpp>
#include <colock/testing.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

using colock::testing::scripted_client;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Runs a lambda that is a coroutine, with what it has captured.
template <class F>
void run(scripted_client& redis, F const& work)
{
    redis.run(work());
}

constexpr auto result = asio::as_tuple(asio::deferred);

}  // namespace

BOOST_AUTO_TEST_SUITE(scripted)

BOOST_AUTO_TEST_CASE(a_hold_is_renewed_while_time_flies)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        auto const held = co_await colock::lock{redis, "mine"}.acquire();
        redis.occupy("other", 10min);
        auto const late = co_await colock::lock{redis, "other"}.acquire();
        BOOST_TEST(static_cast<bool>(held));
        BOOST_TEST(held.valid_for(1s));
    });
}

BOOST_AUTO_TEST_CASE(the_observer_of_the_config_hears_of_waits_that_end_without_the_lock)
{
    auto const counted = std::make_shared<colock::metrics>();
    auto settings = scripted_client::quiet();
    settings.observer = counted;
    scripted_client redis{settings};
    redis.occupy("k");
    run(redis, [&]() -> asio::awaitable<void> {
        auto const got = co_await colock::lock{redis, "k"}.try_acquire_for(1min);
        BOOST_TEST(!got.has_value());
    });
    BOOST_TEST(counted->snapshot().waits == 1U);
    BOOST_TEST(counted->snapshot().gave_up == 1U);
}

BOOST_AUTO_TEST_CASE(time_does_not_fly_while_the_code_itself_has_the_lock)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        colock::lock const lock{redis, "k"};
        auto held = co_await lock.acquire();
        auto waiting = asio::co_spawn(
            redis.context(),
            [&]() -> asio::awaitable<bool> {
                auto const got = co_await lock.try_acquire_for(30s);
                co_return got.has_value();
            },
            asio::use_future
        );
        asio::steady_timer work{co_await asio::this_coro::executor, 20ms};
        co_await work.async_wait(asio::deferred);
        BOOST_TEST(redis.waiters() == 1U);
        co_await held.release();
        co_await asio::post(asio::deferred);
        while (redis.waiters() != 0)
            co_await asio::post(asio::deferred);
        while (waiting.wait_for(0s) != std::future_status::ready)
            co_await asio::post(asio::deferred);
        BOOST_TEST(waiting.get());
    });
    BOOST_TEST(redis.times_acquired("k") == 2U);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_the_servers)
{
    scripted_client redis;
    redis.refuse("k");
    run(redis, [&]() -> asio::awaitable<void> {
        colock::lock const lock{redis, "k"};
        auto [ec, held] = co_await lock.acquire(result);
        BOOST_TEST((ec == colock::error::server_refused));
        redis.accept("k");
        auto const now = co_await lock.acquire();
        BOOST_TEST(static_cast<bool>(now));
    });
}

BOOST_AUTO_TEST_CASE(it_is_so_for_renewals_of_several_names_and_of_permits)
{
    scripted_client redis;
    colock::permit permitted;
    colock::hold a, z;
    run(redis, [&]() -> asio::awaitable<void> {
        colock::permit_semaphore const permits{redis, "p"};
        co_await permits.try_set_permits(1);
        permitted = co_await permits.acquire();
        BOOST_TEST((co_await redis.client().inspect("p")).holders.size() == 1U);
        a = co_await colock::lock{redis, "a"}.acquire();
        z = co_await colock::lock{redis, "z"}.acquire();
    });
    redis.refuse("z");
    redis.refuse("p");
    redis.run_for(1min);
    BOOST_TEST((!z && !permitted));
    BOOST_TEST(static_cast<bool>(a));
}

BOOST_AUTO_TEST_CASE(without_a_server_single_attempts_fail_and_waits_go_on)
{
    scripted_client redis;
    redis.disconnect();
    run(redis, [&]() -> asio::awaitable<void> {
        colock::lock const lock{redis, "k"};
        auto [ec, held] = co_await lock.try_acquire(result);
        BOOST_TEST((ec == colock::error::unavailable));
        auto const [unheard, late] = co_await lock.try_acquire_for(1min, result);
        BOOST_TEST((unheard == colock::error::unavailable));
        redis.connect();
        auto const now = co_await lock.acquire();
        BOOST_TEST(static_cast<bool>(now));
    });
}

BOOST_AUTO_TEST_CASE(a_hold_outlives_a_connection_that_comes_back)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        auto held = co_await colock::lock{redis, "k"}.acquire();
        redis.disconnect();
        redis.connect();
        co_await held.release();
    });
    BOOST_TEST(redis.times_lost("k") == 0U);
    BOOST_TEST(redis.held().empty());
}

BOOST_AUTO_TEST_CASE(a_hold_that_was_asleep_knows_it_before_it_is_told)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        auto const held = co_await colock::lock{redis, "k"}.acquire();
        redis.freeze(1min);
        BOOST_TEST(!held.valid_for(1ms));
        BOOST_TEST(!held.stop_token().stop_requested());
        co_await held.lost();
        while (!held.stop_token().stop_requested())  // a handler of its own
            co_await asio::post(asio::deferred);
    });
}

BOOST_AUTO_TEST_CASE(who_takes_what_is_held_takes_it_away)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        colock::lock const lock{redis, "k"};
        auto const held = co_await lock.acquire();
        redis.occupy("k");
        co_await held.lost();
        auto const again = co_await lock.try_acquire();
        BOOST_TEST(!again.has_value());
    });
}

BOOST_AUTO_TEST_CASE(forgotten_holds_show)
{
    scripted_client redis;
    colock::hold kept;
    run(redis, [&]() -> asio::awaitable<void> {
        kept = co_await colock::lock{redis, "k"}.acquire();
    });
    BOOST_TEST(redis.held() == std::vector<std::string>{"k"});
    kept = {};
    redis.run_until([&] { return redis.held().empty(); });
}

BOOST_AUTO_TEST_CASE(tokens_rise)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        colock::lock const lock{redis, "k"};
        auto one = co_await lock.acquire();
        auto const first = one.fencing_token();
        co_await one.release();
        auto const two = co_await lock.acquire();
        BOOST_TEST(first >= 1U);
        BOOST_TEST(two.fencing_token() > first);
    });
}

BOOST_AUTO_TEST_CASE(names_are_those_of_the_code)
{
    auto settings = scripted_client::quiet();
    settings.key_prefix = "shop:";
    scripted_client redis{settings};
    run(redis, [&]() -> asio::awaitable<void> {
        redis.occupy("k", 1s);
        auto const held = co_await colock::lock{redis, "k"}.acquire();
        BOOST_TEST(redis.held() == std::vector<std::string>{"k"});
        BOOST_TEST(redis.times_acquired("k") == 1U);
    });
}

BOOST_AUTO_TEST_CASE(what_never_ends_says_why)
{
    scripted_client redis;
    redis.occupy("order:7");
    auto const forever = [&]() -> asio::awaitable<void> {
        auto const held = co_await colock::lock{redis, "order:7"}.acquire();
    };
    BOOST_CHECK_EXCEPTION(redis.run(forever()), std::runtime_error, [](auto const& e) {
        BOOST_TEST_MESSAGE(e.what());
        return std::string{e.what()}.find("'order:7'") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(how_long_a_run_may_take_can_be_set)
{
    scripted_client redis;
    asio::steady_timer never{redis.context(), asio::steady_timer::time_point::max()};
    scripted_client::set_run_timeout(20ms);
    BOOST_CHECK_EXCEPTION(
        redis.run(never.async_wait(asio::use_awaitable)),
        std::runtime_error,
        [](auto const& e) {
            std::string const text{e.what()};
            return text.find("after 20 ms") != text.npos &&
                text.find("set_run_timeout") != text.npos;
        }
    );
    scripted_client::set_run_timeout(std::chrono::milliseconds::max());
    redis.run_for(10ms);
    scripted_client::set_run_timeout(10s);
}

BOOST_AUTO_TEST_CASE(an_occupation_outlives_the_end_of_the_one_before)
{
    for (int turns = 0; turns != 5; ++turns) {
        scripted_client redis;
        run(redis, [&]() -> asio::awaitable<void> {
            redis.occupy("k", 500ms);
            redis.freeze(1s);  // its end is due
            for (int i = 0; i != turns; ++i)
                co_await asio::post(redis.context(), asio::deferred);
            redis.occupy("k");
            BOOST_TEST(!(co_await colock::lock{redis, "k"}.try_acquire()).has_value(), turns);
        });
    }
}

BOOST_AUTO_TEST_CASE(nothing_waits_for_the_end_of_an_occupation_that_is_over)
{
    asio::io_context context;
    {
        scripted_client redis{context};
        redis.occupy("vacated", 1h);
        redis.vacate("vacated");
        redis.occupy("left", 1h);
    }
    auto const begun = std::chrono::steady_clock::now();
    context.run_for(5s);
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 5s));
}

BOOST_AUTO_TEST_CASE(times_may_be_as_long_as_their_type_allows)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        redis.occupy("k", std::chrono::milliseconds::max());
        BOOST_TEST(!(co_await colock::lock{redis, "k"}.try_acquire_for(10min)).has_value());
    });
}

// As at the server, where one name is one key.
BOOST_AUTO_TEST_CASE(a_name_of_another_kind_is_an_error)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        auto const held = co_await colock::lock{redis, "k"}.acquire();
        auto const [ec, got] = co_await colock::semaphore{redis, "k"}.try_acquire(result);
        BOOST_TEST((ec == colock::error::wrong_type));
        BOOST_TEST(!got);
        BOOST_TEST(static_cast<bool>(held));
    });
}

// Which kind of object it is, only its first use tells.
BOOST_AUTO_TEST_CASE(a_name_may_be_occupied_before_it_is_used)
{
    scripted_client redis;
    for (auto const* name : {"semaphore", "permits", "latch"})
        redis.occupy(name);
    run(redis, [&]() -> asio::awaitable<void> {
        colock::semaphore const plain{redis, "semaphore"};
        colock::permit_semaphore const leased{redis, "permits"};
        colock::countdown_latch const latch{redis, "latch"};
        BOOST_TEST(co_await plain.try_set_permits(2));
        BOOST_TEST(co_await leased.try_set_permits(2));
        BOOST_TEST(!co_await plain.try_acquire());
        BOOST_TEST(!(co_await leased.try_acquire()).has_value());
        BOOST_TEST(!co_await latch.wait_for(1min));
        for (auto const* name : {"semaphore", "permits", "latch"})
            redis.vacate(name);
        BOOST_TEST(co_await plain.try_acquire(2));
        BOOST_TEST((co_await leased.try_acquire()).has_value());
        co_await latch.wait();
    });
}

BOOST_AUTO_TEST_CASE(a_force_ends_an_occupation)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        colock::lock const plain{redis, "plain"};
        colock::fair_lock const fair{redis, "fair"};
        colock::read_write_lock const both{redis, "both"};
        for (auto const* name : {"plain", "fair", "both"})
            redis.occupy(name);
        BOOST_TEST(!co_await both.read().force_release());
        BOOST_TEST(!(co_await both.read().try_acquire()).has_value());
        BOOST_TEST(co_await plain.force_release());
        BOOST_TEST(co_await fair.force_release());
        BOOST_TEST(co_await both.write().force_release());
        BOOST_TEST((co_await plain.try_acquire()).has_value());
        BOOST_TEST((co_await fair.try_acquire()).has_value());
        BOOST_TEST((co_await both.read().try_acquire()).has_value());
    });
}

BOOST_AUTO_TEST_CASE(code_may_close_its_client)
{
    scripted_client redis;
    run(redis, [&]() -> asio::awaitable<void> {
        auto const held = co_await colock::lock{redis, "k"}.acquire();
        co_await redis.client().close();
        BOOST_TEST(!held);
    });
    BOOST_TEST(redis.held().empty());
}

BOOST_AUTO_TEST_CASE(the_context_may_be_the_tests)
{
    asio::io_context context;
    colock::error_code ec = asio::error::fault;
    {
        scripted_client redis{context};
        colock::lock{redis, "k"}.acquire([&](colock::error_code e, colock::hold) { ec = e; });
        while (ec && context.run_one_for(5s) != 0) {}
        BOOST_TEST(!ec);
    }
    context.restart();
    context.run_for(1s);
}

BOOST_AUTO_TEST_SUITE_END()
