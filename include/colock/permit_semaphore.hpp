// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace colock {

/// One permit of a `permit_semaphore`, while it is held: a hold with an id. It has all operations
/// of a hold; its fencing token is 0, because several owners hold the name at once. `extend` is
/// Redisson's updateLeaseTime.
class permit : public hold {
public:
    permit() noexcept = default;

    /// The permit's name in Redis, 32 hexadecimal digits as Redisson writes them. Any program that
    /// knows it can release the permit there. Empty if the permit is default-constructed or moved
    /// from.
    std::string const& id() const noexcept { return id_; }

    /// For the library only: makes the result of an acquire.
    permit(hold held, std::string id) noexcept : hold{std::move(held)}, id_{std::move(id)} {}

private:
    std::string id_;
};

namespace detail {

using finished = void(error_code);
using answered_bool = void(error_code, bool);
using answered_count = void(error_code, std::int64_t);
using permitted = void(error_code, permit);
using tried_permit = void(error_code, std::optional<permit>);

void permit_acquire(
    core_ptr, asio::any_completion_handler<permitted>, std::string, acquire_options
);
void permit_try_acquire_for(
    core_ptr,
    asio::any_completion_handler<tried_permit>,
    std::string,
    std::chrono::milliseconds wait,
    acquire_options
);
void permit_set(
    core_ptr, asio::any_completion_handler<answered_bool>, std::string, std::int64_t permits
);
void permit_available(core_ptr, asio::any_completion_handler<answered_count>, std::string);

}  // namespace detail

/// A fixed number of permits that all processes share. Each permit has an id and its own lease:
/// Redisson's RPermitExpirableSemaphore, on the same keys and channel.
///
/// In Redis it is a number `name`, the permits that are left, and a sorted set `{name}:timeout`
/// with the ids that are out, sorted by the end of their leases. A release publishes the new number
/// on `redisson_sc:{name}`.
///
/// \par Guarantees
///   While the holders run, there are never more permits out than were set. The client renews a
///   permit while it is held, unless the caller gave a lease, and tells its holder of a loss before
///   anybody else can get the permit. The permits of a dead process come back within one lease, as
///   soon as somebody asks. Leases go by the server's clock; Redisson's clients judge them by their
///   own clocks.
/// \par Executor, thread-safety, lifetimes
///   As for every handle; see `client`.
class permit_semaphore {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The semaphore `name` at the client's server. Sends nothing. A name has 1 to 10,000 bytes of
    /// any kind; a part in braces decides its slot, as in Redis.
    permit_semaphore(client const& where, std::string name)
        : core_{where.core_}
        , name_{std::move(name)}
    {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return name_; }

    /// Makes the semaphore with this number of permits, unless it exists. The result says whether
    /// it was made.
    ///
    /// \par Effects
    ///   `scripts/semaphore_set.lua`, one round trip. A message tells the waiters.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a number below 0 or over 2^31-1.
    ///     Nothing was sent.
    ///   - those of every operation; see `client`.
    ///   - `error::unavailable`, or the connection's last error — no answer within
    ///     `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the request may still take effect.
    template <detail::token_for<detail::answered_bool> Token = boost::asio::deferred_t>
    auto try_set_permits(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            core_, &detail::permit_set, std::forward<Token>(token), name_, permits
        );
    }

    /// Takes one permit. Waits until there is one.
    ///
    /// \par Effects
    ///   `scripts/permit_acquire.lua`, one round trip if there is one. If not, the client
    ///   subscribes to the channel and tries again when the subscription is confirmed. After that
    ///   it tries on each message, when the next lease ends, and each `config::poll_cap`. The
    ///   waiters of one client form one queue, first come first served, and only the head of the
    ///   queue asks the server. There is no re-entry: each call takes a permit, and
    ///   `acquire_options::as` is only what `hold::as` returns.
    /// \par Guarantees
    ///   The permit's validity is counted from before the client sent the script, and at least half
    ///   of it is left.
    /// \par Completion signature
    ///   `void(error_code, permit)`; the permit is empty if and only if there is an error.
    /// \par Completes when
    ///   The permit is held, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a lease under 10 ms or over ten
    ///     years. Nothing was sent.
    ///   - `error::wrong_type` — the keys do not hold such a semaphore.
    ///   - those of every operation; see `client`.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted` and leaves nothing
    ///   behind: if the server still grants a permit, it goes to the next waiter or is released in
    ///   the background.
    template <detail::token_for<detail::permitted> Token = boost::asio::deferred_t>
    auto acquire(acquire_options options, Token&& token = {}) const
    {
        return detail::initiate<detail::permitted>(
            core_, &detail::permit_acquire, std::forward<Token>(token), name_, options
        );
    }

    /// With the default options.
    template <detail::token_for<detail::permitted> Token>
    auto acquire(Token&& token) const
    {
        return acquire(acquire_options{}, std::forward<Token>(token));
    }

    /// With the default options.
    auto acquire() const { return acquire(acquire_options{}, boost::asio::deferred); }

    /// Tries once. Empty if there is no permit, or if this client already has waiters.
    ///
    /// \par Effects
    ///   `scripts/permit_acquire.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, std::optional<permit>)`
    /// \par Errors
    ///   As `acquire`, and `error::unavailable` or the connection's last error after
    ///   `config::timeout`.
    /// \par Cancellation
    ///   As `acquire`.
    template <detail::token_for<detail::tried_permit> Token = boost::asio::deferred_t>
    auto try_acquire(acquire_options options, Token&& token = {}) const
    {
        return detail::initiate<detail::tried_permit>(
            core_,
            &detail::permit_try_acquire_for,
            std::forward<Token>(token),
            name_,
            milliseconds{0},
            options
        );
    }

    /// With the default options.
    template <detail::token_for<detail::tried_permit> Token>
    auto try_acquire(Token&& token) const
    {
        return try_acquire(acquire_options{}, std::forward<Token>(token));
    }

    /// With the default options.
    auto try_acquire() const { return try_acquire(acquire_options{}, boost::asio::deferred); }

    /// Takes one permit, and waits at most `wait` for it. Zero tries once. Empty if the wait ran
    /// out.
    ///
    /// \par Effects
    ///   As `acquire`. The limit counts from the call and includes connecting. It also holds while
    ///   the server is silent.
    /// \par Completion signature
    ///   `void(error_code, std::optional<permit>)`
    /// \par Errors
    ///   As `acquire`, and `error::invalid_argument` for a negative wait.
    /// \par Cancellation
    ///   As `acquire`.
    template <
        class Rep,
        class Period,
        detail::token_for<detail::tried_permit> Token = boost::asio::deferred_t>
    auto try_acquire_for(
        std::chrono::duration<Rep, Period> wait, acquire_options options, Token&& token = {}
    ) const
    {
        return detail::initiate<detail::tried_permit>(
            core_,
            &detail::permit_try_acquire_for,
            std::forward<Token>(token),
            name_,
            detail::round_up<milliseconds>(wait),
            options
        );
    }

    /// With the default options.
    template <class Rep, class Period, detail::token_for<detail::tried_permit> Token>
    auto try_acquire_for(std::chrono::duration<Rep, Period> wait, Token&& token) const
    {
        return try_acquire_for(wait, acquire_options{}, std::forward<Token>(token));
    }

    /// With the default options.
    template <class Rep, class Period>
    auto try_acquire_for(std::chrono::duration<Rep, Period> wait) const
    {
        return try_acquire_for(wait, acquire_options{}, boost::asio::deferred);
    }

    /// How many permits are available: those that are left, and those whose lease has ended.
    ///
    /// \par Effects
    ///   `scripts/permit_count.lua`, one round trip. The answer may be out of date when it arrives.
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors
    ///   `error::invalid_argument` and `error::wrong_type`, as for `acquire`; `error::unavailable`
    ///   or the connection's last error after `config::timeout`; those of every operation, see
    ///   `client`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait.
    template <detail::token_for<detail::answered_count> Token = boost::asio::deferred_t>
    auto available(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            core_, &detail::permit_available, std::forward<Token>(token), name_
        );
    }

private:
    detail::core_ptr core_;
    std::string name_;
};

}  // namespace colock
