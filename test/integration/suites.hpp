// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/cancel_after.hpp"
#include "support/coroutine_of.hpp"
#include "support/fixture.hpp"
#include "support/proxy.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <utility>

namespace colock::test {

/// Each server that is here.
inline auto each_server() { return boost::unit_test::data::make(installed_servers()); }

/// Several tasks, and when all of them have ended.
class tasks {
public:
    explicit tasks(asio::io_context& on) : context_{on} {}

    template <class F>
    void start(F f)
    {
        spawn(coroutine_of(std::move(f)));
    }

    asio::awaitable<void> join(milliseconds limit)
    {
        bool const ended = co_await eventually([&] { return running_ == 0; }, limit);
        if (first_)
            std::rethrow_exception(first_);
        BOOST_REQUIRE(ended);
    }

private:
    void spawn(asio::awaitable<void> coroutine)
    {
        ++running_;
        asio::co_spawn(context_, std::move(coroutine), [this](std::exception_ptr thrown) {
            --running_;
            if (thrown && !first_)
                first_ = thrown;
        });
    }

    asio::io_context& context_;
    int running_ = 0;
    std::exception_ptr first_;
};

/// Counts who is inside a critical section.
class section {
public:
    asio::awaitable<void> stay(milliseconds time)
    {
        BOOST_TEST(++inside_ == 1);
        asio::steady_timer timer{co_await asio::this_coro::executor, time};
        co_await timer.async_wait(asio::deferred);
        BOOST_TEST(--inside_ == 0);
        ++visits_;
    }
    int visits() const noexcept { return visits_; }

private:
    int inside_ = 0;
    int visits_ = 0;
};

/// Whether the server has the key.
inline bool exists(redis_server& server, std::string const& name)
{
    return server.ask("EXISTS", name).number == 1;
}

/// Completes with a tuple instead of throwing.
/// It was not got. A name in generic code, where g++ 12 reads no member of what is awaited.
template <class Held>
bool is_refused(if_acquired<Held> const& got)
{
    return !got.has_value();
}

inline constexpr auto tuple = asio::as_tuple(asio::deferred);

}  // namespace colock::test
