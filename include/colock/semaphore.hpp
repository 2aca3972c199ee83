// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace colock {

namespace detail {

using finished = void(error_code);
using answered_bool = void(error_code, bool);
using answered_count = void(error_code, std::int64_t);

void semaphore_acquire(
    core_ptr, asio::any_completion_handler<finished>, std::string, std::int64_t permits
);
void semaphore_try_acquire(
    core_ptr, asio::any_completion_handler<answered_bool>, std::string, std::int64_t permits
);
void semaphore_try_acquire_for(
    core_ptr,
    asio::any_completion_handler<answered_bool>,
    std::string,
    std::chrono::milliseconds wait,
    std::int64_t permits
);
void semaphore_release(
    core_ptr, asio::any_completion_handler<finished>, std::string, std::int64_t permits
);
void semaphore_set(
    core_ptr, asio::any_completion_handler<answered_bool>, std::string, std::int64_t permits
);
void semaphore_drain(core_ptr, asio::any_completion_handler<answered_count>, std::string);
void semaphore_available(core_ptr, asio::any_completion_handler<answered_count>, std::string);

}  // namespace detail

/// So many permits that all processes share: Redisson's RSemaphore, on the same key and channel.
///
/// In Redis it is a number `name`, the permits that are left. A release publishes the new number on
/// `redisson_sc:{name}`. Beside it, `colock_once:{name}:<client>:…` keeps the number of a client's
/// last request for an hour, so that one whose answer was lost takes or gives once.
///
/// \par Guarantees
///   Never more permits are out than were set and given. Acquire and release take effect once, also
///   when a connection goes in the middle of them, until the client is stopped or its process dies.
/// \par The limit
///   A permit has no owner: one that a process had when it died, or was stopped, is gone. Give it
///   back by hand with `release`, or use `permit_semaphore`, whose permits come back by themselves.
///   Nothing keeps anybody from releasing what he has not acquired.
/// \par Executor
///   Handlers run on their associated executor, else on the client's; never inline, never on the
///   client's strand.
/// \par Thread-safety
///   An immutable handle: distinct and shared objects are safe, from any thread.
/// \par Lifetimes
///   Keeps the inside of the client alive. Operations keep what they need: the semaphore may be
///   destroyed while one is pending. It must not outlive the execution context.
class semaphore {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The semaphore `name` at the client's server. Nothing is sent. A name has 1 to 10,000 bytes
    /// of any kind; a part in braces decides its slot, as in Redis.
    semaphore(client const& where, std::string name) : core_{where.core_}, name_{std::move(name)} {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return name_; }

    /// Makes the semaphore with so many permits, unless it is there. The result says whether it was
    /// made.
    ///
    /// \par Effects
    ///   `scripts/semaphore_set.lua`, one round trip; who waits is told.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a number below 0 or over 2^31-1.
    ///     Nothing was sent.
    ///   - `error::server_refused` — the server refuses us; its text is in the log.
    ///   - `error::closed` — the client was closed or stopped.
    ///   - `error::unavailable`, or the link's last error — no answer within `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the waiting for the answer; what was sent may take effect.
    template <detail::token_for<detail::answered_bool> Token = boost::asio::deferred_t>
    auto try_set_permits(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            core_, &detail::semaphore_set, std::forward<Token>(token), name_, permits
        );
    }

    /// Takes permits, waiting until there are as many.
    ///
    /// \par Effects
    ///   `scripts/semaphore_acquire.lua`, one round trip if there are enough. If not, subscribes to
    ///   the channel, tries once more when the subscription is confirmed, and then on each message
    ///   and each `config::poll_cap`. Waiters of one client stand in one queue, first come first
    ///   served, whatever number they want; only its head asks the server.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The permits are taken, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a number below 1 or over 2^31-1.
    ///     Nothing was sent.
    ///   - `error::wrong_type` — the key is no semaphore.
    ///   - `error::server_refused` — the server refuses us; its text is in the log.
    ///   - `error::closed` — the client was closed or stopped.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted`, and takes nothing:
    ///   permits that are granted all the same go to the next waiter who wants as many, or are
    ///   given back in the background (`scripts/semaphore_undo.lua`) until the server has answered.
    template <detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto acquire(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            core_, &detail::semaphore_acquire, std::forward<Token>(token), name_, permits
        );
    }

    /// As above, one permit.
    template <detail::token_for<detail::finished> Token>
    auto acquire(Token&& token) const
    {
        return acquire(1, std::forward<Token>(token));
    }

    /// One permit.
    auto acquire() const { return acquire(1, boost::asio::deferred); }

    /// Tries once. False: there are too few, or others of this client wait already.
    ///
    /// \par Effects
    ///   `scripts/semaphore_acquire.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `acquire`, and `error::unavailable` or the link's last error after `config::timeout`.
    /// \par Cancellation
    ///   As `acquire`.
    template <detail::token_for<detail::answered_bool> Token = boost::asio::deferred_t>
    auto try_acquire(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            core_, &detail::semaphore_try_acquire, std::forward<Token>(token), name_, permits
        );
    }

    /// As above, one permit.
    template <detail::token_for<detail::answered_bool> Token>
    auto try_acquire(Token&& token) const
    {
        return try_acquire(1, std::forward<Token>(token));
    }

    /// One permit.
    auto try_acquire() const { return try_acquire(1, boost::asio::deferred); }

    /// Takes permits, waiting at most `wait` for them. Zero tries once. False: the wait ran out.
    ///
    /// \par Effects
    ///   As `acquire`. The limit counts from the call and includes connecting; it holds also when
    ///   the server is silent.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `acquire`, and `error::invalid_argument` for a negative wait.
    /// \par Cancellation
    ///   As `acquire`.
    template <
        class Rep,
        class Period,
        detail::token_for<detail::answered_bool> Token = boost::asio::deferred_t>
    auto try_acquire_for(
        std::chrono::duration<Rep, Period> wait, std::int64_t permits, Token&& token = {}
    ) const
    {
        return detail::initiate<detail::answered_bool>(
            core_,
            &detail::semaphore_try_acquire_for,
            std::forward<Token>(token),
            name_,
            detail::round_up<milliseconds>(wait),
            permits
        );
    }

    /// As above, one permit.
    template <class Rep, class Period, detail::token_for<detail::answered_bool> Token>
    auto try_acquire_for(std::chrono::duration<Rep, Period> wait, Token&& token) const
    {
        return try_acquire_for(wait, 1, std::forward<Token>(token));
    }

    /// One permit.
    template <class Rep, class Period>
    auto try_acquire_for(std::chrono::duration<Rep, Period> wait) const
    {
        return try_acquire_for(wait, 1, boost::asio::deferred);
    }

    /// Gives permits, whether or not they were acquired. A semaphore that is not there is made.
    ///
    /// \par Effects
    ///   `scripts/semaphore_release.lua`, one round trip; what is released together goes as one.
    ///   Sent again after a lost connection.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The server has answered.
    /// \par Errors
    ///   As `acquire`, and `error::unavailable` or the link's last error after `config::timeout`:
    ///   the release goes on in the background until it is answered or the client stops.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the waiting for the answer; the release goes on.
    template <detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto release(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            core_, &detail::semaphore_release, std::forward<Token>(token), name_, permits
        );
    }

    /// As above, one permit.
    template <detail::token_for<detail::finished> Token>
    auto release(Token&& token) const
    {
        return release(1, std::forward<Token>(token));
    }

    /// One permit.
    auto release() const { return release(1, boost::asio::deferred); }

    /// Takes all permits that are left. The result says how many they were.
    ///
    /// \par Effects
    ///   `scripts/semaphore_drain.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors and cancellation
    ///   As `try_set_permits`, and `error::wrong_type`.
    template <detail::token_for<detail::answered_count> Token = boost::asio::deferred_t>
    auto drain(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            core_, &detail::semaphore_drain, std::forward<Token>(token), name_
        );
    }

    /// How many permits are left; 0 if the semaphore is not there.
    ///
    /// \par Effects
    ///   `scripts/count.lua`, one round trip. The answer is old when it arrives.
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors
    ///   `error::invalid_argument`, `error::wrong_type`, `error::server_refused`, `error::closed`;
    ///   `error::unavailable` or the link's last error after `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the waiting.
    template <detail::token_for<detail::answered_count> Token = boost::asio::deferred_t>
    auto available(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            core_, &detail::semaphore_available, std::forward<Token>(token), name_
        );
    }

private:
    detail::core_ptr core_;
    std::string name_;
};

}  // namespace colock
