// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/coroutine_of.hpp"
#include "unit/harness.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace colock::test {

/// A pause in virtual time; throws if it is cancelled.
inline asio::awaitable<void> rest(milliseconds time)
{
    asio::basic_waitable_timer<clock, clock_wait_traits, asio::any_io_executor> timer{
        co_await asio::this_coro::executor};
    timer.expires_at(clock::now() + time);
    co_await timer.async_wait(asio::deferred);
}

/// A coroutine that runs: how it ended, and the way to cancel it.
class running {
    struct state {
        bool ended = false;
        std::exception_ptr thrown;
        asio::cancellation_signal signal;
    };

public:
    template <class Coroutine>
    running(harness& at, Coroutine what)
    {
        start(at, coroutine_of(std::move(what)));
    }

    bool ended() const noexcept { return state_->ended; }
    bool succeeded() const noexcept { return state_->ended && !state_->thrown; }
    void cancel() { state_->signal.emit(asio::cancellation_type::terminal); }

    /// What it threw; no error for an exception without a code.
    error_code thrown() const { return look().first; }
    std::string said() const { return look().second; }

private:
    void start(harness& at, asio::awaitable<void> coroutine)
    {
        asio::co_spawn(
            at.context,
            std::move(coroutine),
            asio::bind_cancellation_slot(
                state_->signal.slot(),
                [s = state_](std::exception_ptr e) {
                    s->ended = true;
                    s->thrown = e;
                }
            )
        );
        at.time.settle();
    }
    std::pair<error_code, std::string> look() const
    {
        BOOST_TEST_REQUIRE((state_->ended && state_->thrown));
        try {
            std::rethrow_exception(state_->thrown);
        } catch (boost::system::system_error const& e) {
            return {e.code(), e.what()};
        } catch (std::exception const& e) {
            return {error_code{}, e.what()};
        }
    }

    std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace colock::test
