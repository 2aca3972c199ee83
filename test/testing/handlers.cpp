// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A scripted client among handlers that stop the context, throw, or never end.
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/awaitable.hpp>
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
