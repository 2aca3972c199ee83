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
inline namespace v0_3 {

namespace detail {

using finished = void(error_code);
using answered_bool = void(error_code, bool);
using answered_count = void(error_code, std::int64_t);

void latch_set(core_ptr, handler<answered_bool>, std::string, std::int64_t count);
void latch_count_down(core_ptr, handler<finished>, std::string);
void latch_remove(core_ptr, handler<answered_bool>, std::string);
void latch_wait(core_ptr, handler<finished>, std::string);
void latch_wait_for(core_ptr, handler<answered_bool>, std::string, std::chrono::milliseconds wait);
void read_counter(core_ptr, handler<answered_count>, std::string);

}  // namespace detail

/// Lets all waiters pass when it has been counted down to zero: Redisson's RCountDownLatch, on the
/// same key and channel.
///
/// In Redis it is a number `name`, the counts that are left; a latch that does not exist is open.
/// The last count publishes `0` on `redisson_countdownlatch__channel__{name}`. The key
/// `colock_once:{name}:<client>:…` keeps the number of a client's last change for an hour, so that
/// a change whose answer was lost counts only once.
///
/// A latch can be set again when it is open. A waiter at that moment either saw it open, or waits
/// until it opens again.
///
/// \par Guarantees
///   A count takes effect once, even if the connection is lost in the middle, until the client is
///   stopped or its process dies.
/// \par Copies
///   `config::durability`, for all calls of a client: its counts go as one step, in one order.
/// \par Executor, thread-safety, lifetimes
///   As for every handle; see `client`.
class countdown_latch {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The latch `name` at the client's server. Sends nothing. A name has 1 to 10,000 bytes of any
    /// kind.
    countdown_latch(client const& where, std::string name)
        : core_{where.core_}
        , name_{std::move(name)}
    {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return name_; }

    /// Closes the latch until it has been counted down `count` times, unless it is closed already.
    /// The result says whether it was set.
    ///
    /// \par Effects
    ///   `scripts/latch_set.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a count below 1 or over 2^53.
    ///     Nothing was sent.
    ///   - those of every operation; see `client`.
    ///   - `error::unavailable` — no answer within `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the request may still take effect.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto try_set_count(std::int64_t count, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "try_set_count", core_, &detail::latch_set, std::forward<Token>(token), name_, count
        );
    }

    /// Counts down by one. At zero the latch is removed and all waiters pass. An open latch stays
    /// open.
    ///
    /// \par Effects
    ///   `scripts/latch_count_down.lua`, one round trip; counts at the same time share one. After a
    ///   lost connection the client sends it again.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   As `try_set_count`, and `error::wrong_type` if the key does not hold a latch. After
    ///   `error::unavailable` the count goes on in the background until the server answers or the
    ///   client stops.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the count goes on.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto count_down(Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            "count_down", core_, &detail::latch_count_down, std::forward<Token>(token), name_
        );
    }

    /// Removes the latch, whatever is left to count: it is open then, and all waiters pass. The
    /// result says whether there was one. Redisson's `delete`; but Redisson does not let its
    /// waiters pass.
    ///
    /// \par Effects
    ///   `scripts/latch_remove.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `try_set_count`, and `error::wrong_type` if the key does not hold a latch.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the request may still take effect.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto remove(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "remove", core_, &detail::latch_remove, std::forward<Token>(token), name_
        );
    }

    /// Waits until the latch is open.
    ///
    /// \par Effects
    ///   `scripts/count.lua`, one round trip if the latch is open. If not, the client subscribes to
    ///   the channel and asks again when the subscription is confirmed. After that it asks on each
    ///   message, and each `config::poll_cap` because no message tells of a key that somebody
    ///   deletes. One waiter of a client asks for all of them.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The client saw the latch open, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name. Nothing was sent.
    ///   - `error::wrong_type` — the key does not hold a latch.
    ///   - those of every operation; see `client`.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted`, and leaves nothing
    ///   behind.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto wait(Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            "wait", core_, &detail::latch_wait, std::forward<Token>(token), name_
        );
    }

    /// Waits at most `longest`. Zero asks once. False if the wait ran out.
    ///
    /// \par Effects
    ///   As `wait`. The limit counts from the call and includes connecting. It also holds while the
    ///   server is silent.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `wait`, and `error::invalid_argument` for a negative wait. If the server has not said
    ///   in the wait that the count is above zero: `error::unavailable` at the end of the wait; of
    ///   zero, after `config::timeout`.
    /// \par Cancellation
    ///   As `wait`.
    template <
        class Rep,
        class Period,
        detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto wait_for(std::chrono::duration<Rep, Period> longest, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "wait_for",
            core_,
            &detail::latch_wait_for,
            std::forward<Token>(token),
            name_,
            detail::round_up<milliseconds>(longest)
        );
    }

    /// How many counts are left; 0 if the latch is open.
    ///
    /// \par Effects
    ///   `scripts/count.lua`, one round trip. The answer may be out of date when it arrives.
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors
    ///   `error::invalid_argument` and `error::wrong_type`, as for `acquire`; `error::unavailable`
    ///   after `config::timeout`; those of every operation, see `client`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait.
    template <detail::token_for<detail::answered_count> Token = detail::default_token>
    auto count(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "count", core_, &detail::read_counter, std::forward<Token>(token), name_
        );
    }

private:
    detail::client_share core_;
    std::string name_;
};

}  // namespace v0_3
}  // namespace colock
