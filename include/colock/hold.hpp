// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/claim.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/owner.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

class basic_hold;

namespace detail {

class hold_state;
struct hold_access;
using hold_ptr = std::shared_ptr<hold_state>;
using finished = void(error_code);
using given = void(error_code, claim);

core_ptr core_of(hold_ptr const&) noexcept;
hold_ptr const& state_of(basic_hold const&) noexcept;
short_name name_of_hold(hold_ptr const&) noexcept;
std::shared_ptr<std::string const> server_of_hold(hold_ptr const&) noexcept;
std::shared_ptr<std::string const> server_for(
    core_ptr const&, hold_ptr const& held, auto const&...
) noexcept
{
    return server_of_hold(held);
}
short_name name_of(hold_ptr const& held, auto const&...) noexcept { return name_of_hold(held); }
void release_hold(core_ptr, handler<finished>, hold_ptr);
void extend_hold(core_ptr, handler<finished>, hold_ptr, std::chrono::milliseconds);
void give_hold(core_ptr, handler<given>, hold_ptr);
void wait_lost(core_ptr, handler<finished>, hold_ptr);

}  // namespace detail

/// The operations that all holds share: `hold`, `group_hold`, `permit` and `leadership`. A program
/// names one of these. "The lock" is here what is held: a permit, for example.
///
/// Move-only. A hold is empty when it is default-constructed or moved from. A hold from an
/// `acquire` is valid until `valid_until()`. If the caller gave no lease, the client renews the
/// hold: `valid_until()` moves on as long as the hold lives and the server can be reached.
///
/// \par Loss
///   When the client can no longer prove that it holds the lock (the lease is nearly over and no
///   renewal was answered, or the server says that the lock is gone), the hold is *lost*: `lost()`
///   completes, `stop_token()` is stopped, and the hold turns false. If renewals fail, all of this
///   happens before anybody else can get the lock. If somebody deleted or forced the lock, or the
///   server lost it, it happens as soon as the client hears of it, at the next renewal at the
///   latest; a fixed lease has no renewals, so there it may be near the end of the lease. Until
///   then somebody else may have it. A process that does not run can't be told; it is
///   told as soon as it runs again. The bool and `valid_for()` read a clock that
///   goes on while the machine is suspended, so they are right even before a stopped process is
///   told. There is one exception: a virtual machine that its hypervisor pauses may not know of it.
///   After that they may say true for a lock that is gone, until the first renewal finds the loss.
/// \par Executor
///   A handler runs on its associated executor, or on the client's if it has none (for an empty
///   hold, which has no client, on the system executor); never inline, and never on the client's
///   strand.
/// \par Thread-safety
///   Distinct holds are safe. A shared hold is not, with one exception: several threads may call
///   `valid_until()`, `valid_for()`, `fencing_token()` and `explicit operator bool` at the same
///   time.
/// \par Lifetimes
///   A hold shares ownership of its client's state. It must not outlive the execution context.
class basic_hold {
public:
    /// The clock of all time points here.
    using clock = std::chrono::steady_clock;
    using milliseconds = std::chrono::milliseconds;

    /// Releases the lock.
    ///
    /// \par Effects
    ///   `scripts/release.lua`, one round trip: it removes the field and tells the waiters. If
    ///   other holds of the same owner live, `scripts/extend.lua` lowers the depth instead. After a
    ///   lost connection the client sends it again as long as the lease may still run.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The server has answered. The hold counts as released from the call on.
    /// \par Errors
    ///   - success — the hold is released. A second call succeeds too, without a command.
    ///   - `error::not_held` — the hold is empty or moved from.
    ///   - `error::lost` — the server had nothing to release, or the hold had been lost: somebody
    ///     else may have had the lock in the meantime.
    ///   - `error::closed` — the client was stopped first; the lock is free when its lease ends.
    ///   - `error::unavailable` — no answer within `config::timeout`. The release goes on in the
    ///     background until the lease is over.
    ///   - `error::server_refused` — the server refuses the release. If the refusal is final, the
    ///     call completes at once. If it is temporary (the server lacks memory, replicas or a
    ///     disk), the call completes after `config::timeout`, and the release goes on in the
    ///     background.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the release goes on.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto release(Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            "release",
            detail::core_of(state_),
            &detail::release_hold,
            std::forward<Token>(token),
            state_
        );
    }

    /// Sets a new lease that starts now. A renewed hold stays renewed, with this lease; any other
    /// hold ends when this lease does.
    ///
    /// \par Effects
    ///   `scripts/extend.lua`, one round trip. If the new lease is shorter than what is left,
    ///   `valid_until()` moves back before the client sends it. The key keeps the longest lease
    ///   among the holds of the same owner, and the rest of `at_least`.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - `error::invalid_argument` — the lease is under 10 ms, over ten years, or under 100 ms
    ///     while the hold is renewed. Nothing was sent.
    ///   - `error::not_held` — the hold is empty, moved from or released.
    ///   - `error::lost` — the hold is lost, or the server says that it is gone.
    ///   - `error::closed`, `error::unavailable`, `error::server_refused` — as for `release`.
    ///   - `error::not_replicated`, `error::unsupported` — see `client`, of copies.
    ///
    ///   After an error `valid_until()` says what the hold is worth: the new lease may have taken
    ///   effect, or not.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the new lease may still take
    ///   effect.
    template <
        class Rep,
        class Period,
        detail::token_for<detail::finished> Token = detail::default_token>
    auto extend(std::chrono::duration<Rep, Period> lease, Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            "extend",
            detail::core_of(state_),
            &detail::extend_hold,
            std::forward<Token>(token),
            state_,
            detail::round_up<milliseconds>(lease)
        );
    }

    /// Waits until the hold is lost. Any number of calls may wait.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - success — the hold is lost.
    ///   - `boost::asio::error::operation_aborted` — the hold was released or destroyed, or the
    ///     wait was cancelled.
    ///   - `error::closed` — `client::close()` released the hold while its owner still had it.
    ///   - `error::not_held` — the hold is empty or moved from.
    /// \par Cancellation
    ///   terminal, partial, total: nothing else happens.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto lost(Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            "lost", detail::core_of(state_), &detail::wait_lost, std::forward<Token>(token), state_
        );
    }

    /// Stopped when the hold is lost, and when `client::close()` releases the hold while its owner
    /// still has it. Its callbacks run on the client's executor (one that is made after the stop
    /// runs at once, where it is made) and should not block. The token of an empty hold is never
    /// stopped.
    std::stop_token stop_token() const;

    /// The moment until which nobody else can have the lock, by this process's steady clock: just
    /// before the last answered script was sent, plus the lease, minus 1 % of the lease and 2 ms
    /// for clock drift. The steady clock stands still while the machine is suspended and the lease
    /// does not, so each suspension moves this moment back; ask again after one, or use
    /// `valid_for`. The clock's epoch if the hold is empty, released or lost.
    clock::time_point valid_until() const noexcept;

    /// How many replicas have the last step that proved the hold: the acquire, a re-entry, an
    /// extension or a renewal. 0 without `config::durability`, `acquire_options::durability` and
    /// `sync_replicas`, and if the hold is empty, released or lost. Of several locks the fewest.
    unsigned replicas() const noexcept;

    /// Whether the lock is valid for at least `time` from now. It reads a clock that goes
    /// on while the machine is suspended (CLOCK_BOOTTIME), and relies on no timer. Call it before a
    /// write that can't be undone. A virtual machine that its hypervisor pauses may not know it:
    /// there only a resource that checks the fencing token is safe.
    template <class Rep, class Period>
    bool valid_for(std::chrono::duration<Rep, Period> time) const noexcept
    {
        return valid_past(detail::round_up<clock::duration>(time));
    }

    /// The name of the lock, as it was given, without `config::key_prefix`; of a group lock, the
    /// names of its parts, joined by commas. Empty if the hold is.
    std::string name() const;

    /// The owner of the hold. \pre The hold is not empty.
    owner const& as() const noexcept;

    /// Whether the lock is held: the hold is not empty, released or lost, and it is still valid by
    /// the clock.
    explicit operator bool() const noexcept;

protected:
    /// For the holds themselves. The destructor releases the lock in the background if it is still
    /// held. It never throws and never blocks. A failure goes to the log; the lock is then free
    /// when its lease ends, at the latest.
    basic_hold() noexcept = default;
    /// For the holds themselves.
    explicit basic_hold(detail::hold_ptr state) noexcept : state_{std::move(state)} {}
    basic_hold(basic_hold&& other) noexcept = default;
    basic_hold& operator=(basic_hold&& other) noexcept
    {
        if (this != &other) {
            abandon();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~basic_hold() { abandon(); }

    /// For the holds that have one.
    std::uint64_t token() const noexcept;
    /// For the holds that have several.
    std::uint64_t token_of(std::size_t part) const noexcept;
    /// For the holds that may have `acquire_options::at_least`.
    void drop_at_least();

    detail::hold_ptr state_;

private:
    friend struct detail::hold_access;
    friend detail::hold_ptr const& detail::state_of(basic_hold const&) noexcept;

    bool valid_past(clock::duration) const noexcept;
    void abandon() noexcept;
};

/// A lock that is held. It is the only way to release the lock, and it knows how long the lock is
/// valid. The base class has what all holds share.
class [[nodiscard]] hold : public basic_hold {
public:
    /// Empty.
    hold() noexcept = default;

    /// Leaves `other` empty.
    hold(hold&& other) noexcept = default;

    /// Releases what it holds, as the destructor does, and takes over from `other`, which is empty
    /// then.
    hold& operator=(hold&& other) noexcept = default;

    /// Releases the lock in the background if it is still held. Never throws, never blocks. A
    /// failure goes to the log; the lock is then free when its lease ends, at the latest.
    ~hold() = default;

    /// Gives the lock away without releasing it, for work that goes on in another process, which
    /// adopts the claim. See `claim.hpp`, and `client::adopt`. For holds of `lock`, `spin_lock` and
    /// `fenced_lock`.
    ///
    /// \par Effects
    ///   None at the server. The hold ends as if it were released, but the lock stays taken until
    ///   the claim is adopted, or until its lease ends. A renewal that is under way may still set
    ///   that lease once more. To leave more time for the way, `extend` the hold first.
    /// \par Completion signature
    ///   `void(error_code, claim)`
    /// \par Errors
    ///   - `error::invalid_argument` — the hold is of another kind; its owner has entered again, or
    ///     had entered with `acquire_options::at_least`; or another operation of the hold is under
    ///     way. The hold stays as it is.
    ///   - `error::lost` — the hold is lost.
    ///   - `error::not_held` — the hold is empty, moved from or released.
    /// \par Cancellation
    ///   None: it completes without waiting.
    template <detail::token_for<detail::given> Token = detail::default_token>
    auto give(Token&& token = {})
    {
        return detail::initiate<detail::given>(
            "give", detail::core_of(state_), &detail::give_hold, std::forward<Token>(token), state_
        );
    }

    /// The work was not done after all: the release does not wait for the rest of
    /// `acquire_options::at_least`. Without effect on an empty hold.
    void forgo_at_least() { drop_at_least(); }

    /// Grows with each ownership of the name, and stays the same through re-entry. Pass it to the
    /// resource, which refuses a token that is lower than the highest it has seen
    /// (`colock::fence`). 0 if the hold is empty or a read side, or `config::fencing` is off and
    /// the lock is no `fenced_lock`.
    std::uint64_t fencing_token() const noexcept { return token(); }

private:
    friend struct detail::hold_access;
    using basic_hold::basic_hold;
};

/// Several locks that are held as one, of a `multi_lock` or a `red_lock`. It is empty, moved and
/// destroyed as a `hold` is, and the base class has what all holds share.
class [[nodiscard]] group_hold : public basic_hold {
public:
    /// Empty.
    group_hold() noexcept = default;

    /// Of a `multi_lock` the token of the first part. Of a `red_lock` that of the whole; the lock
    /// says when there is one. 0 if there is none.
    std::uint64_t fencing_token() const noexcept { return token(); }

    /// The token of part `i`, counted from 0; 0 if there is none.
    std::uint64_t fencing_token(std::size_t i) const noexcept { return token_of(i); }

private:
    friend struct detail::hold_access;
    using basic_hold::basic_hold;
};

namespace detail {

/// Makes holds of their state.
struct hold_access {
    template <std::derived_from<basic_hold> Held>
    static Held make(hold_ptr state) noexcept
    {
        return Held{std::move(state)};
    }

    static hold_ptr take(basic_hold&& from) noexcept { return std::exchange(from.state_, {}); }
};

}  // namespace detail

/// The result of an operation that may find nothing to hold: a `std::optional` of a `hold` or
/// its like. Keep it in a variable, because it releases the lock when it is destroyed:
///
///     if (auto held = co_await lock.try_acquire())  // right: it is held in this block
///         …
///     if (co_await lock.try_acquire())              // wrong: released before the block begins
///         …
///     co_await lock.try_acquire();                  // wrong: clang warns (-Wunused-result)
template <class Held>
class [[nodiscard]] if_acquired : public std::optional<Held> {
public:
    using std::optional<Held>::optional;
};

}  // namespace v0_3
}  // namespace colock
