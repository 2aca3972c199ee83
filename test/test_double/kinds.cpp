// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Each kind of lock, semaphore and latch on a scripted client.
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using colock::testing::scripted_client;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// What holds for everything that one owner at a time has.
template <class Lock>
asio::awaitable<void> check_taking(scripted_client& redis, Lock lock, std::string name)
{
    auto free = co_await lock.try_acquire();
    BOOST_TEST_REQUIRE(free.has_value());
    BOOST_TEST(redis.is_held(name));
    BOOST_TEST(co_await lock.is_locked());
    co_await free->release();
    BOOST_TEST(!redis.is_held(name));

    redis.occupy(name);
    auto const none = co_await lock.try_acquire();
    BOOST_TEST(!none.has_value());
    auto const waited = co_await lock.try_acquire_for(1min);
    BOOST_TEST(!waited.has_value());

    redis.occupy(name, 10s);
    auto late = co_await lock.try_acquire_for(1min);
    BOOST_TEST_REQUIRE(late.has_value());
    redis.lose(name);
    co_await late->lost();
    BOOST_TEST(!*late);
    BOOST_TEST(late->stop_token().stop_requested());
    BOOST_TEST(redis.held().empty());

    auto again = co_await lock.acquire();
    redis.let_leases_run_out();
    co_await again.lost();
    BOOST_TEST(!again);

    auto const last = co_await lock.acquire();
    BOOST_TEST(static_cast<bool>(last));
}

template <class Lock>
void check(std::string name = "k")
{
    scripted_client redis;
    redis.run(check_taking(redis, Lock{redis, name}, name));
    BOOST_TEST(redis.held().empty());
    BOOST_TEST(redis.times_acquired(name) == 4U);
    BOOST_TEST(redis.times_released(name) == 2U);
    BOOST_TEST(redis.times_lost(name) == 2U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kinds)

BOOST_AUTO_TEST_CASE(lock) { check<colock::lock>(); }
BOOST_AUTO_TEST_CASE(fair_lock) { check<colock::fair_lock>(); }
BOOST_AUTO_TEST_CASE(spin_lock) { check<colock::spin_lock>(); }
BOOST_AUTO_TEST_CASE(fenced_lock) { check<colock::fenced_lock>(); }

BOOST_AUTO_TEST_CASE(read_write_lock)
{
    scripted_client redis;
    colock::read_write_lock const both{redis, "k"};
    redis.run(check_taking(redis, both.read(), "k"));
    redis.run(check_taking(redis, both.write(), "k"));
    BOOST_TEST(redis.held().empty());
}

BOOST_AUTO_TEST_CASE(multi_lock)
{
    scripted_client redis;
    colock::multi_lock const both{colock::lock{redis, "a"}, colock::lock{redis, "b"}};
    redis.run([](scripted_client& r, colock::multi_lock l) -> asio::awaitable<void> {
        auto held = co_await l.acquire();
        BOOST_TEST(r.held().size() == 2U);
        r.lose("b");
        co_await held.lost();
        co_await held.release(asio::as_tuple(asio::deferred));
        r.occupy("b");
        BOOST_TEST(!(co_await l.try_acquire_for(5s)).has_value());
    }(redis, both));
    BOOST_TEST(redis.held().empty());
}

BOOST_AUTO_TEST_CASE(red_lock)
{
    asio::io_context context;
    scripted_client a{context}, b{context}, c{context};
    colock::red_lock const majority{
        colock::lock{a, "k"}, colock::lock{b, "k"}, colock::lock{c, "k"}};
    c.occupy("k");
    a.run([](colock::red_lock l) -> asio::awaitable<void> {
        auto held = co_await l.acquire();
        BOOST_TEST(static_cast<bool>(held));
        co_await held.release();
    }(majority));
    BOOST_TEST(a.held().empty());
}

BOOST_AUTO_TEST_CASE(election)
{
    scripted_client redis;
    redis.run([](scripted_client& r) -> asio::awaitable<void> {
        colock::election const office{r, "k"};
        BOOST_TEST(!co_await office.current());
        auto mine = co_await office.campaign("here");
        auto const seen = co_await office.current();
        BOOST_TEST((seen && seen->words == "here" && seen->token == mine.fencing_token()));
        r.lose("k");
        co_await mine.lost();
        BOOST_TEST(!co_await office.current());
        r.occupy("k");
        auto const other = co_await office.current();
        BOOST_TEST((other && other->words.empty()));
    }(redis));
}

BOOST_AUTO_TEST_CASE(semaphore)
{
    scripted_client redis;
    redis.run([](scripted_client& r) -> asio::awaitable<void> {
        colock::semaphore const permits{r, "k"};
        co_await permits.try_set_permits(2);
        co_await permits.acquire(2);
        BOOST_TEST(!co_await permits.try_acquire());
        co_await permits.release(1);
        r.occupy("k");
        BOOST_TEST(co_await permits.available() == 0);
        BOOST_TEST(co_await permits.drain() == 0);
        BOOST_TEST(!co_await permits.try_acquire_for(1min));
        r.occupy("k", 2s);
        BOOST_TEST(co_await permits.try_acquire_for(1min));
        r.vacate("k");
        BOOST_TEST(co_await permits.available() == 0);
    }(redis));
}

BOOST_AUTO_TEST_CASE(permit_semaphore)
{
    scripted_client redis;
    redis.run([](scripted_client& r) -> asio::awaitable<void> {
        colock::permit_semaphore const permits{r, "k"};
        co_await permits.try_set_permits(1);
        auto one = co_await permits.acquire();
        BOOST_TEST(r.is_held("k"));
        BOOST_TEST(!(co_await permits.try_acquire()).has_value());
        r.lose("k");
        co_await one.lost();
        BOOST_TEST(co_await permits.available() == 1);
        r.occupy("k", 2s);
        auto const late = co_await permits.try_acquire_for(1min);
        BOOST_TEST(late.has_value());
    }(redis));
    BOOST_TEST(redis.held().empty());
}

BOOST_AUTO_TEST_CASE(semaphores_with_a_limit)
{
    std::string warned;
    colock::config settings;
    settings.log.sink = [&](auto, std::string_view line) { warned += line; };
    scripted_client redis{std::move(settings)};
    redis.run([](scripted_client& r) -> asio::awaitable<void> {
        colock::semaphore const permits{r, "s", 2};
        r.occupy("s", 2s);
        BOOST_TEST(!co_await permits.try_acquire());
        co_await permits.acquire(2);
        BOOST_TEST(co_await permits.available() == 0);
        colock::permit_semaphore const leased{r, "p", 3};
        r.occupy("p", 2s);
        BOOST_TEST(!(co_await leased.try_acquire()).has_value());
        auto const one = co_await leased.acquire();
        BOOST_TEST(co_await leased.available() == 2);
    }(redis));
    BOOST_TEST(warned.empty(), warned);
}

BOOST_AUTO_TEST_CASE(countdown_latch)
{
    scripted_client redis;
    redis.run([](scripted_client& r) -> asio::awaitable<void> {
        colock::countdown_latch const latch{r, "k"};
        co_await latch.try_set_count(1);
        BOOST_TEST(co_await latch.count() == 1);
        co_await latch.count_down();
        co_await latch.wait();
        r.occupy("k");
        BOOST_TEST(!co_await latch.wait_for(1min));
        r.occupy("k", 3s);
        BOOST_TEST(co_await latch.wait_for(1min));
        BOOST_TEST(!co_await latch.remove());
    }(redis));
}

BOOST_AUTO_TEST_SUITE_END()

// A scripted client among handlers that stop the context, throw, or never end.

using colock::testing::scripted_client;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Runs a lambda that is a coroutine, with what it has captured.
template <class F>
void run_on(scripted_client& redis, F const& work)
{
    redis.run(work());
}

/// Runs `f` again and again, each time from a handler of the context's own.
struct repeated {
    repeated(asio::io_context& context, std::chrono::microseconds pause, std::function<void()> f)
        : timer{context}
        , between{pause}
        , each{std::move(f)}
    {
        wait();
    }

    void wait()
    {
        timer.expires_after(between);
        timer.async_wait([this](colock::error_code ec) {
            if (ec)
                return;
            wait();
            each();
        });
    }

    asio::steady_timer timer;
    std::chrono::microseconds between;
    std::function<void()> each;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(handlers)

BOOST_AUTO_TEST_CASE(handlers_may_stop_the_context_while_time_flies)
{
    scripted_client redis;
    int stops = 0;
    repeated const stop{redis.context(), 20us, [&] {
                            ++stops;
                            redis.context().stop();
                        }};
    redis.run_for(50min);
    BOOST_TEST(stops > 10);
    run_on(redis, [&]() -> asio::awaitable<void> {
        auto const held = co_await colock::lock{redis, "k"}.acquire();
        BOOST_TEST(static_cast<bool>(held));
    });
}

BOOST_AUTO_TEST_CASE(handlers_may_throw_while_time_flies)
{
    scripted_client redis;
    bool throws = true;
    int calls = 0, thrown = 0;
    repeated const complain{redis.context(), 20us, [&] {
                                // Not at once, when time doesn't fly yet.
                                if (++calls % 20 == 0 && throws)
                                    throw std::runtime_error{"as the test wants it"};
                            }};
    for (int i = 0; i != 200; ++i)
        try {
            redis.run_for(50min);
        } catch (std::runtime_error const& e) {
            BOOST_TEST(e.what() == std::string{"as the test wants it"});
            ++thrown;
        }
    throws = false;
    BOOST_TEST(thrown == 200);
    run_on(redis, [&]() -> asio::awaitable<void> {
        redis.occupy("k", 1min);
        auto const held = co_await colock::lock{redis, "k"}.acquire();
        BOOST_TEST(static_cast<bool>(held));
    });
}

BOOST_AUTO_TEST_CASE(what_is_always_ready_does_not_run_for_ever)
{
    scripted_client redis;
    bool is_over = false;
    std::function<void()> again = [&] {
        std::this_thread::sleep_for(10ms);
        if (!is_over)
            asio::post(redis.context(), [&] { again(); });
    };
    again();
    BOOST_CHECK_THROW(redis.run_until([] { return true; }), std::runtime_error);
    is_over = true;
    redis.run_until([] { return true; });
}

BOOST_AUTO_TEST_SUITE_END()
