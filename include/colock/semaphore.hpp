// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

class permit_guard;

namespace detail {

using finished = void(error_code);
using answered_bool = void(error_code, bool);
using answered_count = void(error_code, std::int64_t);

/// How many permits a call is about: one, unless it says so.
struct number_of_permits {
    constexpr number_of_permits() = default;
    template <std::convertible_to<std::int64_t> Number>
    constexpr number_of_permits(Number n) : value{static_cast<std::int64_t>(n)}
    {}
    constexpr operator std::int64_t() const noexcept { return value; }

    std::int64_t value = 1;
};

/// When a semaphore ends: never, unless a call says so.
struct lifetime : std::optional<std::chrono::milliseconds> {
    constexpr lifetime() = default;
    template <class Rep, class Period>
    constexpr lifetime(std::chrono::duration<Rep, Period> time)
        : std::optional<std::chrono::milliseconds>{round_up<std::chrono::milliseconds>(time)}
    {}
};

void semaphore_acquire(
    core_ptr,
    handler<finished>,
    std::string,
    std::optional<std::int64_t> limit,
    std::int64_t permits
);
void semaphore_try_acquire_for(
    core_ptr,
    handler<answered_bool>,
    std::string,
    std::optional<std::int64_t> limit,
    std::chrono::milliseconds wait,
    std::int64_t permits
);
void semaphore_set(
    core_ptr,
    handler<answered_bool>,
    std::string,
    std::int64_t permits,
    std::optional<std::chrono::milliseconds> life
);
enum class permits_change { give, give_if_there, add };
void semaphore_change(
    core_ptr, handler<finished>, std::string, permits_change, std::int64_t permits
);
void semaphore_release_existing(
    core_ptr, handler<answered_bool>, std::string, std::int64_t permits
);
void semaphore_drain(core_ptr, handler<answered_count>, std::string);
void read_counter(core_ptr, handler<answered_count>, std::string);

}  // namespace detail

/// A fixed number of permits that all processes share: Redisson's RSemaphore, on the same key and
/// channel.
///
/// In Redis it is a number `name`, the permits that are left. A release publishes the new number on
/// `redisson_sc:{name}`. The key `colock_once:{name}:<client>:…` keeps the number of a client's
/// last request for an hour, so that a request whose answer was lost takes effect only once.
///
/// \par Guarantees
///   There are never more permits out than were set and released. Acquire and release take effect
///   once, even if the connection is lost in the middle, until the client is stopped or its process
///   dies.
/// \par The limit
///   A permit has no owner. If a process dies or its client is stopped while it has a permit, the
///   permit is gone. Give it back by hand with `release`, or use `permit_semaphore`, whose permits
///   come back automatically. Nothing prevents a task from releasing a permit that it has not
///   acquired.
/// \par Copies
///   `config::durability`, for all calls of a client: its releases go as one step, in one order. A
///   program that wants a semaphore with another durability makes a second client for it.
/// \par Executor, thread-safety, lifetimes
///   As for every handle; see `client`.
class semaphore {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The semaphore `name` at the client's server. Sends nothing. A name has 1 to 10,000 bytes of
    /// any kind; a part in braces decides its slot, as in Redis.
    semaphore(client const& where, std::string name) : core_{where.core_}, name_{std::move(name)} {}

    /// The same, with `limit` permits if nobody has set it: the first acquire makes it, in the same
    /// round trip. So nobody has to call `try_set_permits`, and a semaphore that is lost is set
    /// again.
    ///
    /// A semaphore that exists wins, and a warning in the log says so once if more of its permits
    /// are left than the limit. Redis has only the number that is left, so a limit that is higher
    /// than that of the semaphore goes unnoticed.
    ///
    /// \par Errors
    ///   The limit is 1 to 2^31-1. With another, each acquire ends with `error::invalid_argument`,
    ///   and so does one that wants more permits than the limit. Nothing is sent.
    semaphore(client const& where, std::string name, std::int64_t limit)
        : core_{where.core_}
        , name_{std::move(name)}
        , limit_{limit}
    {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return name_; }

    /// As it was given, if it was.
    std::optional<std::int64_t> limit() const noexcept { return limit_; }

    /// Makes the semaphore with this number of permits, unless it exists. The result says whether
    /// it was made. With a time, `try_set_permits(5, 1h)`, it ends after that, with all its
    /// permits: Redisson's `trySetPermits` with a time to live. Then it has no permits until
    /// somebody makes it again.
    ///
    /// \par Effects
    ///   `scripts/semaphore_set.lua`, one round trip. A message tells the waiters.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a number below 0 or over 2^31-1,
    ///     or a time under 1 ms or over ten years. Nothing was sent.
    ///   - those of every operation; see `client`.
    ///   - `error::unavailable` — no answer within `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the request may still take effect.
    template <class Life = detail::lifetime, class Token = detail::default_token>
        requires detail::call_for<Life, Token, detail::lifetime, detail::answered_bool>
    auto try_set_permits(std::int64_t permits, Life&& life = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::answered_bool, detail::lifetime>(
            "try_set_permits",
            core_,
            &detail::semaphore_set,
            std::forward<Life>(life),
            std::forward<Token>(token),
            name_,
            permits
        );
    }

    /// Takes permits. Waits until there are enough. Zero permits are there at once: nothing is
    /// sent, and nothing is taken.
    ///
    /// If the semaphore does not exist and has no limit, the call waits until somebody sets it. A
    /// warning in the log and `events::no_permits_set` say so, once a wait.
    ///
    /// \par Effects
    ///   `scripts/semaphore_acquire.lua`, one round trip if there are enough. If not, the same
    ///   script puts the client into a wait list at the server. After that the client tries when
    ///   a release has told it by its mailbox, and each `config::poll_cap`. The first of the list
    ///   listens to the semaphore's channel, too, where Redisson tells of permits. The waiters of
    ///   one client form one queue, first come first served, however many permits they want, and
    ///   only the head of the queue asks the server.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The permits are taken, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a bad limit, a number below 0,
    ///   over
    ///     2^31-1 or over the limit. Nothing was sent.
    ///   - `error::wrong_type` — the key does not hold a semaphore.
    ///   - those of every operation; see `client`.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted`, and takes nothing:
    ///   if the server still grants the permits, they go to the next waiter that wants as many, or
    ///   the client gives them back in the background (`scripts/semaphore_undo.lua`), and repeats
    ///   that until the server has answered.
    template <class Permits = detail::number_of_permits, class Token = detail::default_token>
        requires detail::call_for<Permits, Token, detail::number_of_permits, detail::finished>
    auto acquire(Permits&& permits = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::finished, detail::number_of_permits>(
            "acquire",
            core_,
            &detail::semaphore_acquire,
            std::forward<Permits>(permits),
            std::forward<Token>(token),
            name_,
            limit_
        );
    }

    /// Tries once. False if there are too few permits, or if this client already has waiters.
    ///
    /// \par Effects
    ///   `scripts/semaphore_acquire.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `acquire`, and `error::unavailable` after `config::timeout`.
    /// \par Cancellation
    ///   As `acquire`.
    template <class Permits = detail::number_of_permits, class Token = detail::default_token>
        requires detail::call_for<Permits, Token, detail::number_of_permits, detail::answered_bool>
    auto try_acquire(Permits&& permits = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::answered_bool, detail::number_of_permits>(
            "try_acquire",
            core_,
            &detail::semaphore_try_acquire_for,
            std::forward<Permits>(permits),
            std::forward<Token>(token),
            name_,
            limit_,
            milliseconds{0}
        );
    }

    /// Takes permits, and waits at most `wait` for them. Zero tries once. False if the wait ran
    /// out.
    ///
    /// \par Effects
    ///   As `acquire`. The limit counts from the call and includes connecting. It also holds while
    ///   the server is silent.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `acquire`, and `error::invalid_argument` for a negative wait. If the server has not
    ///   said in the wait that too few are left: `error::unavailable` at the end of the wait. Zero:
    ///   as `try_acquire`.
    /// \par Cancellation
    ///   As `acquire`.
    template <
        class Rep,
        class Period,
        class Permits = detail::number_of_permits,
        class Token = detail::default_token>
        requires detail::call_for<Permits, Token, detail::number_of_permits, detail::answered_bool>
    auto try_acquire_for(
        std::chrono::duration<Rep, Period> wait, Permits&& permits = {}, Token&& token = {}
    ) const
    {
        return detail::initiate_call<detail::answered_bool, detail::number_of_permits>(
            "try_acquire_for",
            core_,
            &detail::semaphore_try_acquire_for,
            std::forward<Permits>(permits),
            std::forward<Token>(token),
            name_,
            limit_,
            detail::round_up<milliseconds>(wait)
        );
    }

    /// Gives permits back, whether or not they were acquired. Makes the semaphore if it does not
    /// exist, unless it has a limit: then the next acquire makes it, with all permits. Zero permits
    /// change nothing, and nothing is sent.
    ///
    /// \par Preconditions
    ///   Nothing checks that the caller has the permits: a release too many lets one too many in.
    /// \par Effects
    ///   `scripts/semaphore_release.lua`, with a limit `scripts/semaphore_release_existing.lua`,
    ///   one round trip; releases at the same time share one. After a lost connection the client
    ///   sends it again.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The server has answered.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty name or one of over 10,000 bytes, a number below 0
    ///     or over 2^31-1. The limit is not checked. Nothing was sent.
    ///   - `error::wrong_type` — the key does not hold a number.
    ///   - `error::unavailable` — no answer within `config::timeout`. The release goes on in the
    ///     background until the server answers or the client stops.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the release goes on.
    template <class Permits = detail::number_of_permits, class Token = detail::default_token>
        requires detail::call_for<Permits, Token, detail::number_of_permits, detail::finished>
    auto release(Permits&& permits = {}, Token&& token = {}) const
    {
        using how = detail::permits_change;
        return detail::initiate_call<detail::finished, detail::number_of_permits>(
            "release",
            core_,
            &detail::semaphore_change,
            std::forward<Permits>(permits),
            std::forward<Token>(token),
            name_,
            limit_ ? how::give_if_there : how::give
        );
    }

    /// As `release`, but only if the semaphore exists: one that has ended or was deleted is not
    /// made again. The result says whether it exists. Redisson's `releaseIfExists`.
    ///
    /// \par Effects
    ///   `scripts/semaphore_release_existing.lua`, one round trip. After a lost connection the
    ///   client sends it again.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   As `release`, and `error::invalid_argument` for a number below 1.
    /// \par Cancellation
    ///   As `release`.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto release_if_exists(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "release_if_exists",
            core_,
            &detail::semaphore_release_existing,
            std::forward<Token>(token),
            name_,
            permits
        );
    }

    /// Gives the semaphore more permits, or with a negative number fewer, also of those that are
    /// out. If more are out than there are then, `available` is negative until enough have come
    /// back. Makes the semaphore if it does not exist.
    ///
    /// \par Effects, completion signature and cancellation
    ///   As `release` without a limit, which is the same with a positive number.
    /// \par Errors
    ///   As `release`; the number may be from -(2^31-1) to 2^31-1.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto add_permits(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            "add_permits",
            core_,
            &detail::semaphore_change,
            std::forward<Token>(token),
            name_,
            detail::permits_change::add,
            permits
        );
    }

    /// Takes all permits that are left. The result says how many there were.
    ///
    /// \par Effects
    ///   `scripts/semaphore_drain.lua`, one round trip. After `add_permits` with a negative number
    ///   less than none may be left: then the result is negative, and 0 are left, as in Redisson.
    ///   So a drain undoes a reduction whose permits are still out.
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors and cancellation
    ///   As `try_set_permits`, and `error::wrong_type`.
    template <detail::token_for<detail::answered_count> Token = detail::default_token>
    auto drain(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "drain", core_, &detail::semaphore_drain, std::forward<Token>(token), name_
        );
    }

    /// How many permits are left; 0 if the semaphore does not exist, also before the first acquire
    /// makes it.
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
    auto available(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "available", core_, &detail::read_counter, std::forward<Token>(token), name_
        );
    }

private:
    friend class permit_guard;

    detail::client_share core_;
    std::string name_;
    std::optional<std::int64_t> limit_{};
};

}  // namespace v0_3
}  // namespace colock
