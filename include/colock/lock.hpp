// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/lock_id.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v0_3 {

class lock_watch;

namespace detail {

struct lock_group;

template <class Held>
using acquired = void(error_code, Held);
template <class Held>
using tried = void(error_code, if_acquired<Held>);
using answered_bool = void(error_code, bool);
using answered_count = void(error_code, std::int64_t);
using answered_lease = void(error_code, std::optional<std::chrono::milliseconds>);

/// This much after now, by the client's clock, which counts the time in which the machine is
/// suspended.
hold::clock::time_point from_now(std::chrono::nanoseconds time) noexcept;

/// A moment of the steady clock by the client's clock.
hold::clock::time_point from_steady(hold::clock::time_point) noexcept;

/// The moment by the client's clock, rounded up.
template <class Clock, class Duration>
hold::clock::time_point moment(std::chrono::time_point<Clock, Duration> at)
{
    using time_point = hold::clock::time_point;
    if constexpr (std::is_same_v<Clock, hold::clock>)
        return from_steady(time_point{round_up<hold::clock::duration>(at.time_since_epoch())});
    else
        return from_now(time_until(at));
}

/// The operations on one lock, or on several as one.
template <class Subject>
struct lock_operations;

template <>
struct lock_operations<lock_id> {
    using milliseconds = std::chrono::milliseconds;
    using hold_type = hold;

    static void acquire(core_ptr, handler<acquired<hold>>, lock_id, acquire_options);
    static void try_acquire_for(
        core_ptr, handler<tried<hold>>, lock_id, milliseconds wait, acquire_options
    );
    static void try_acquire_until(
        core_ptr, handler<tried<hold>>, lock_id, hold::clock::time_point until, acquire_options
    );
    static void is_locked(core_ptr, handler<answered_bool>, lock_id);
    static void hold_count(core_ptr, handler<answered_count>, lock_id, owner);
    static void remaining_lease(core_ptr, handler<answered_lease>, lock_id);
    static void force_release(core_ptr, handler<answered_bool>, lock_id);
};

}  // namespace detail

/// The operations that all locks share. Each kind of lock has its own class, and its page says what
/// differs; everything else is as described here.
///
/// The options of an acquire and the completion token may each be left out: `acquire()`,
/// `acquire(token)`, `acquire({.lease = 3s})`, `acquire({.lease = 3s}, token)`. A token alone takes
/// the place of the options. Without a token the call is to be awaited, and throws an
/// `error_with_diagnostics`, which names the lock and the server: see `diagnostics.hpp`.
template <class Subject>
class basic_lock {
    using operations = detail::lock_operations<Subject>;

public:
    using milliseconds = std::chrono::milliseconds;
    using hold_type = typename operations::hold_type;  ///< `hold`; of a group `group_hold`

private:
    using acquired = detail::acquired<hold_type>;
    using tried = detail::tried<hold_type>;

public:
    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return id_.name; }

    /// Acquires the lock. Waits for its turn if another owner holds it.
    ///
    /// \par Effects
    ///   `scripts/acquire.lua`, one round trip if the lock is free. If the lock is held, the same
    ///   script puts the client into the wait list of the lock. The client tries again when a
    ///   release tells it by its mailbox that its turn has come, when the holder's lease ends, and
    ///   if a look each `config::poll_cap` finds the lock free. Before its first wait a client has
    ///   no mailbox: it opens one, and tries once more when that is confirmed. The waiters of one
    ///   client form one queue, first come first served, and only the head of the queue asks the
    ///   server. When this client releases a hold, it hands the lock over to the head of its queue,
    ///   mostly without a command, for at most `config::max_tenure`. If the options name the owner
    ///   of a hold of the same lock, the call re-enters it with `scripts/extend.lua` and does not
    ///   wait.
    /// \par Guarantees
    ///   The hold's validity is counted from before the client sent the script that took or last
    ///   renewed the lock, and at least half of it is left. Its fencing token is higher than that
    ///   of every earlier holder.
    /// \par Completion signature
    ///   `void(error_code, hold)`, of a group `void(error_code, group_hold)`; the hold is empty if
    ///   and only if there is an error.
    /// \par Completes when
    ///   The lock is held, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a lease under 10 ms or
    ///     over ten years. Nothing was sent.
    ///   - `error::lost` — the call re-entered a hold that is gone at the server; nothing was
    ///     taken.
    ///   - `error::would_deadlock` — the owner in the options would wait for itself: it holds the
    ///     lock and `re_entrant` is false, or it wants to write what it reads. Nothing was taken.
    ///   - `error::wrong_type` — the key does not hold a lock.
    ///   - those of every operation; see `client`.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted` and leaves nothing
    ///   behind: if the server still grants the lock, it goes to the next waiter or is released in
    ///   the background.
    template <class Options = acquire_options, class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, acquired>
    auto acquire(Options&& options = {}, Token&& token = {}) const
    {
        return detail::initiate_call<acquired, acquire_options>(
            "acquire",
            core_,
            &operations::acquire,
            std::forward<Options>(options),
            std::forward<Token>(token),
            id_
        );
    }

    /// Tries to acquire the lock once.
    ///
    /// \par Effects
    ///   `scripts/acquire.lua`, one round trip. Sends nothing if this client holds the lock or
    ///   already has waiters for it. If this client has an attempt in flight, the call shares its
    ///   result, and takes the attempt over if the first caller cancels.
    /// \par Completion signature
    ///   `void(error_code, if_acquired<hold>)`; empty if somebody else has the lock.
    /// \par Errors
    ///   As `acquire`, and
    ///   - `error::unavailable` — the server did not answer within `config::timeout`.
    ///   - `error::not_replicated` — too few copies have the lock (`acquire_options::durability`);
    ///     it is released again.
    /// \par Cancellation
    ///   As `acquire`.
    template <class Options = acquire_options, class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, tried>
    auto try_acquire(Options&& options = {}, Token&& token = {}) const
    {
        return detail::initiate_call<tried, acquire_options>(
            "try_acquire",
            core_,
            &operations::try_acquire_for,
            std::forward<Options>(options),
            std::forward<Token>(token),
            id_,
            milliseconds{0}
        );
    }

    /// Acquires the lock, and waits at most `wait` for it. Zero tries once.
    ///
    /// \par Effects
    ///   As `acquire`. The limit counts from the call and includes connecting. It also holds while
    ///   the server is silent.
    /// \par Completion signature
    ///   `void(error_code, if_acquired<hold>)`; empty if the wait ran out and somebody else has
    ///   the lock, as a server has said that is still reached.
    /// \par Errors
    ///   As `acquire`, and `error::invalid_argument` for a negative wait. If the server has not
    ///   said in the wait that somebody else has it: `error::unavailable` at the end of the wait.
    ///   Zero: as `try_acquire`.
    /// \par Cancellation
    ///   As `acquire`.
    template <
        class Rep,
        class Period,
        class Options = acquire_options,
        class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, tried>
    auto try_acquire_for(
        std::chrono::duration<Rep, Period> wait, Options&& options = {}, Token&& token = {}
    ) const
    {
        return detail::initiate_call<tried, acquire_options>(
            "try_acquire_for",
            core_,
            &operations::try_acquire_for,
            std::forward<Options>(options),
            std::forward<Token>(token),
            id_,
            detail::round_up<milliseconds>(wait)
        );
    }

    /// Acquires the lock, and waits until `until` at most. A moment that has passed tries once.
    ///
    /// The moment counts when the operation begins, so a caller that does several things before one
    /// deadline need not reckon. A moment of another clock than `hold::clock` is converted when
    /// this function is called.
    ///
    /// \par Effects, errors and cancellation
    ///   As `try_acquire_for`.
    /// \par Completion signature
    ///   `void(error_code, if_acquired<hold>)`; empty if the wait ran out.
    template <
        class Clock,
        class Duration,
        class Options = acquire_options,
        class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, tried>
    auto try_acquire_until(
        std::chrono::time_point<Clock, Duration> until, Options&& options = {}, Token&& token = {}
    ) const
    {
        return detail::initiate_call<tried, acquire_options>(
            "try_acquire_until",
            core_,
            &operations::try_acquire_until,
            std::forward<Options>(options),
            std::forward<Token>(token),
            id_,
            detail::moment(until)
        );
    }

    /// Whether anybody holds the lock.
    ///
    /// \par Effects
    ///   `scripts/inspect.lua`, one round trip. The answer may be out of date when it arrives.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   `error::invalid_argument` and `error::wrong_type`, as for `acquire`; `error::unavailable`
    ///   after `config::timeout`; those of every operation, see `client`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the waiting.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto is_locked(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "is_locked", core_, &operations::is_locked, std::forward<Token>(token), id_
        );
    }

    /// How many living holds the owner `who` has on this lock through this client. Sends nothing.
    ///
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors
    ///   `error::invalid_argument` — an empty or over-long name.
    /// \par Cancellation
    ///   None: it does not wait.
    template <detail::token_for<detail::answered_count> Token = detail::default_token>
    auto hold_count(owner who, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "hold_count", core_, &operations::hold_count, std::forward<Token>(token), id_, who
        );
    }

    /// The time until the lock becomes free, unless its holder renews or releases it first. Empty
    /// if nobody holds it; the greatest duration if its key has no TTL.
    ///
    /// \par Effects
    ///   As `is_locked`.
    /// \par Completion signature
    ///   `void(error_code, std::optional<std::chrono::milliseconds>)`
    /// \par Errors and cancellation
    ///   As `is_locked`.
    template <detail::token_for<detail::answered_lease> Token = detail::default_token>
    auto remaining_lease(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_lease>(
            "remaining_lease", core_, &operations::remaining_lease, std::forward<Token>(token), id_
        );
    }

    /// Takes the lock away from its holder, and wakes the waiters.
    ///
    /// \par Effects
    ///   `scripts/force.lua`, one round trip. A hold of this client is lost at once. A hold of
    ///   another client is lost one message and one script later if that client has waited for a
    ///   lock, or renewed one, within the last minute. Otherwise it is lost at its next renewal; a
    ///   fixed lease has none, so there by its release, or when the lease is nearly over. The
    ///   result says whether there was a lock.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors and cancellation
    ///   As `is_locked`. A cancelled call may still take effect. `error::unavailable` also if the
    ///   connection was lost before the answer: the call may have taken effect. The client does not
    ///   send it again, because by then another owner may hold the lock.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto force_release(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "force_release", core_, &operations::force_release, std::forward<Token>(token), id_
        );
    }

protected:
    /// For the locks themselves.
    basic_lock(client const& where, Subject id) : core_{where.core_}, id_{std::move(id)} {}
    /// For the locks themselves.
    basic_lock(detail::core_ptr where, Subject id) : core_{std::move(where)}, id_{std::move(id)} {}

private:
    friend struct detail::lock_group;
    friend class fenced_lock;
    friend class lock_watch;

    detail::client_share core_;
    Subject id_;
};

/// A re-entrant mutex over Redis: Redisson's RLock, on the same keys and channel, so that Java and
/// C++ share it.
///
/// In Redis it is a hash `name` with one field, `<client uuid>:<number>`, whose value is the depth
/// of re-entry, and a TTL that is the lease (Redisson's layout). A release publishes `0` on
/// `redisson_lock__channel:{name}`, and tells the first client in the list
/// `colock_wait:{name}:turns`.
///
/// \par Guarantees
///   With one healthy server, clocks of about the same rate, and holders that run: at most one
///   owner holds the name at a time. If renewals fail, the client tells the holder before
///   anybody else can get the lock; see `hold`. See docs/guarantees.md for what no lease can
///   promise, and `fence` for the remedy.
/// \par Executor, thread-safety, lifetimes
///   As for every handle; see `client`.
class lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name` at the client's server. Sends nothing. A name has 1 to 10,000 bytes of any
    /// kind; a part in braces decides its slot, as in Redis. Names that begin with `colock_` or
    /// `redisson_` are reserved: keys beside locks have such names.
    lock(client const& where, std::string name) : basic_lock{where, {std::move(name)}} {}
};

}  // namespace v0_3
}  // namespace colock
