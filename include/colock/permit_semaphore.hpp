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

/// One permit of a `permit_semaphore`, while it is held: a hold with an id. Everything that a hold
/// can, it can; its fencing token is 0, for several hold the name at once. `extend` is Redisson's
/// updateLeaseTime.
class permit : public hold {
public:
    permit() noexcept = default;

    /// The permit's name in Redis, 32 hexadecimal digits as Redisson writes them: who knows it can
    /// release the permit there. Empty if the permit is default-made or moved from.
    std::string const& id() const noexcept { return id_; }

    /// What an acquire makes; not for users.
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
void permit_try_acquire(
    core_ptr, asio::any_completion_handler<tried_permit>, std::string, acquire_options
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

/// So many permits that all processes share, each with an id and a lease of its own: Redisson's
/// RPermitExpirableSemaphore, on the same keys and channel.
///
/// In Redis it is a number `name`, the permits that are left, and a sorted set `{name}:timeout` of
/// the ids that are out, by the end of their leases. A release publishes the new number on
/// `redisson_sc:{name}`.
///
/// \par Guarantees
///   Never more permits are out than were set, while their holders run: a permit is renewed while
///   it is held, unless it has a lease of its own, and its holder is told before it can go to
///   somebody else. What a process had that died comes back within a lease, as soon as somebody
///   asks. The leases are by the server's clock; a Redisson beside us judges them by its own.
/// \par Executor
///   Handlers run on their associated executor, else on the client's; never inline, never on the
///   client's strand.
/// \par Thread-safety
///   An immutable handle: distinct and shared objects are safe, from any thread.
/// \par Lifetimes
///   Keeps the inside of the client alive. Operations keep what they need: the semaphore may be
///   destroyed while one is pending. It must not outlive the execution context.
class permit_semaphore {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The semaphore `name` at the client's server. Nothing is sent. A name has 1 to 10,000 bytes
    /// of any kind; a part in braces decides its slot, as in Redis.
    permit_semaphore(client const& where, std::string name)
        : core_{where.core_}
        , name_{std::move(name)}
    {}

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
            core_, &detail::permit_set, std::forward<Token>(token), name_, permits
        );
    }

    /// Takes one permit, waiting until there is one.
    ///
    /// \par Effects
    ///   `scripts/permit_acquire.lua`, one round trip if there is one. If not, subscribes to the
    ///   channel, tries once more when the subscription is confirmed, and then on each message,
    ///   when the next lease ends, and each `config::poll_cap`. Waiters of one client stand in one
    ///   queue, first come first served; only its head asks the server. `acquire_options::as` is
    ///   what `hold::as` says: there is no re-entry, each call takes a permit.
    /// \par Guarantees
    ///   The permit's validity is counted from before the script was sent, and at least half of it
    ///   is left.
    /// \par Completion signature
    ///   `void(error_code, permit)`; the permit is empty if and only if there is an error.
    /// \par Completes when
    ///   The permit is held, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a lease under 10 ms or over ten
    ///     years. Nothing was sent.
    ///   - `error::wrong_type` — the keys are no such semaphore.
    ///   - `error::server_refused` — the server refuses us; its text is in the log.
    ///   - `error::closed` — the client was closed or stopped.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted`, and leaves nothing:
    ///   a grant that still arrives goes to the next waiter, or is released in the background.
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

    /// Tries once. Empty: there is none, or others of this client wait already.
    ///
    /// \par Effects
    ///   `scripts/permit_acquire.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, std::optional<permit>)`
    /// \par Errors
    ///   As `acquire`, and `error::unavailable` or the link's last error after `config::timeout`.
    /// \par Cancellation
    ///   As `acquire`.
    template <detail::token_for<detail::tried_permit> Token = boost::asio::deferred_t>
    auto try_acquire(acquire_options options, Token&& token = {}) const
    {
        return detail::initiate<detail::tried_permit>(
            core_, &detail::permit_try_acquire, std::forward<Token>(token), name_, options
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

    /// Takes one permit, waiting at most `wait` for it. Zero tries once. Empty: the wait ran out.
    ///
    /// \par Effects
    ///   As `acquire`. The limit counts from the call and includes connecting; it holds also when
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

    /// How many permits are to be had: those that are left, and those whose lease has ended.
    ///
    /// \par Effects
    ///   `scripts/permit_count.lua`, one round trip. The answer is old when it arrives.
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
            core_, &detail::permit_available, std::forward<Token>(token), name_
        );
    }

private:
    detail::core_ptr core_;
    std::string name_;
};

}  // namespace colock
