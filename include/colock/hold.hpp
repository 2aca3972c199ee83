// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/owner.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

namespace colock {

class hold;

namespace detail {

class hold_state;
using hold_ptr = std::shared_ptr<hold_state>;
using finished = void(error_code);

core_ptr core_of(hold_ptr const&) noexcept;
hold make_hold(hold_ptr) noexcept;
hold_ptr const& state_of(hold const&) noexcept;
void release_hold(core_ptr, asio::any_completion_handler<finished>, hold_ptr);
void extend_hold(
    core_ptr, asio::any_completion_handler<finished>, hold_ptr, std::chrono::milliseconds
);
void wait_lost(core_ptr, asio::any_completion_handler<finished>, hold_ptr);

}  // namespace detail

/// A lock that is held: the only way to release it, and the witness of its validity.
///
/// Move-only. Empty when default-made or moved from. A hold that comes from an `acquire` is valid
/// until `valid_until()`; one without a lease of its own is renewed, so that this moment moves on
/// for as long as the hold lives and the server can be reached.
///
/// \par Loss
///   When nothing can prove any more that the lock is held (its lease is nearly over and no
///   renewal was answered, or the server says that it is gone), the hold is *lost*: `lost()`
///   completes, `stop_token()` is stopped, and the hold turns false, all before anybody else can
///   have the lock. A process that does not run can't be told; it learns first thing when it runs
///   again. The bool and `valid_for()` go by the clock, and so tell the truth at any time.
/// \par Executor
///   Handlers run on their associated executor, else on the client's (an empty hold has no client:
///   on the system executor); never inline and never on the client's strand.
/// \par Thread-safety
///   Distinct holds are safe. One hold is not safe for calls at once from several threads, but
///   `valid_until()`, `valid_for()`, `fencing_token()` and `explicit operator bool` may be called
///   while another thread does the same.
/// \par Lifetimes
///   A hold keeps the inside of its client alive. It must not outlive the execution context.
class hold {
public:
    /// That of all its times.
    using clock = std::chrono::steady_clock;
    using milliseconds = std::chrono::milliseconds;

    /// Empty.
    hold() noexcept = default;

    /// Leaves `other` empty.
    hold(hold&& other) noexcept = default;

    /// As the destructor, then takes over; leaves `other` empty.
    hold& operator=(hold&& other) noexcept
    {
        if (this != &other) {
            abandon();
            state_ = std::move(other.state_);
        }
        return *this;
    }

    /// Releases in the background what is still held: never throws, never blocks. A failure goes
    /// to the log; the lock is then free at the latest when its lease ends.
    ~hold() { abandon(); }

    /// Releases the lock.
    ///
    /// \par Effects
    ///   `scripts/release.lua`, one round trip: the field is removed, waiters are told. If other
    ///   holds of the same owner live, `scripts/extend.lua` lowers the depth instead. Sent again
    ///   after a lost connection, for as long as the lease could still run.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   The server has answered. The hold counts as released from the call on.
    /// \par Errors
    ///   - success — released; also the second time, then without a command.
    ///   - `error::not_held` — the hold is empty or moved from.
    ///   - `error::lost` — there was nothing to release at the server, or the hold had been lost:
    ///     somebody else may have had the lock meanwhile.
    ///   - `error::closed` — the client was stopped first; the lease runs out by itself.
    ///   - `error::unavailable`, or the link's last error — no answer within `config::timeout`.
    ///     The release goes on in the background until the lease is over.
    ///   - `error::server_refused` — the server refuses the release: for good, then at once; or for
    ///     the moment (it wants memory, replicas or a disk), then after `config::timeout`, and the
    ///     release goes on in the background.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the waiting for the answer; the release goes on.
    template <detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto release(Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            detail::core_of(state_), &detail::release_hold, std::forward<Token>(token), state_
        );
    }

    /// Sets a new lease from now on. A renewed hold stays renewed, with this lease; another has
    /// this much longer.
    ///
    /// \par Effects
    ///   `scripts/extend.lua`, one round trip. A lease that is shorter than what is left moves
    ///   `valid_until()` back before it is sent. The key keeps the longest lease among the holds
    ///   of the same owner.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - `error::invalid_argument` — the lease is under 10 ms, over ten years, or under 100 ms
    ///     while the hold is renewed. Nothing was sent.
    ///   - `error::not_held` — empty, moved from or released.
    ///   - `error::lost` — it is lost, or the server says that it is gone.
    ///   - `error::closed`, `error::unavailable` — as for `release`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the waiting; the new lease may take effect.
    template <
        class Rep,
        class Period,
        detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto extend(std::chrono::duration<Rep, Period> lease, Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            detail::core_of(state_),
            &detail::extend_hold,
            std::forward<Token>(token),
            state_,
            detail::round_up<milliseconds>(lease)
        );
    }

    /// Waits until the hold is lost. Any number may wait.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - success — the hold is lost.
    ///   - `boost::asio::error::operation_aborted` — it was released or destroyed, or the waiting
    ///     was cancelled.
    ///   - `error::closed` — `client::close()` has released it under its owner.
    ///   - `error::not_held` — empty or moved from.
    /// \par Cancellation
    ///   terminal, partial, total: nothing else happens.
    template <detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto lost(Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            detail::core_of(state_), &detail::wait_lost, std::forward<Token>(token), state_
        );
    }

    /// Stopped when the hold is lost, and when `client::close()` has released it under its owner.
    /// Its callbacks run on the client's executor. A token of an
    /// empty hold can't be stopped.
    std::stop_token stop_token() const;

    /// Grows with each ownership of the name and stays through re-entry; pass it to the resource,
    /// which refuses what is lower than the highest it has seen (`colock::fence`). 0: empty, or
    /// `config::fencing` is off.
    std::uint64_t fencing_token() const noexcept;

    /// Of a hold on several locks: the token of the i-th, from 0; 0 if there is none.
    std::uint64_t fencing_token(std::size_t i) const noexcept;

    /// Until when nobody else can have the lock, by this process's steady clock: the moment before
    /// the last answered script was sent, plus the lease, less 1 % of it and 2 ms for the drift of
    /// clocks. The epoch's beginning if the hold is empty, released or lost.
    clock::time_point valid_until() const noexcept;

    /// Whether the lock is valid for that much longer; checked by the clock, not by a timer. Ask it
    /// before a write that can't be taken back.
    template <class Rep, class Period>
    bool valid_for(std::chrono::duration<Rep, Period> time) const noexcept
    {
        return valid_past(detail::round_up<clock::duration>(time));
    }

    /// The owner that holds it. \pre not empty.
    owner const& as() const noexcept;

    /// Held: neither empty, nor released, nor lost; and valid yet, by the clock.
    explicit operator bool() const noexcept;

private:
    friend hold detail::make_hold(detail::hold_ptr) noexcept;
    friend detail::hold_ptr const& detail::state_of(hold const&) noexcept;
    explicit hold(detail::hold_ptr state) noexcept : state_{std::move(state)} {}

    bool valid_past(clock::duration) const noexcept;
    void abandon() noexcept;

    detail::hold_ptr state_;
};

}  // namespace colock
