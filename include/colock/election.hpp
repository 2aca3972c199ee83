// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/lock.hpp>
#include <colock/options.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// The leader of an election, as everybody sees it.
struct leader {
    std::uint64_t token = 0;  ///< its fencing token; 0 if it has published nothing yet
    std::string words;        ///< what it says of itself: its address, for example

    friend bool operator==(leader const&, leader const&) = default;
};

namespace detail {

using seen_leader = void(error_code, std::optional<leader>);

void leader_current(core_ptr, handler<seen_leader>, std::string name);
void leader_publish(core_ptr, handler<finished>, hold_ptr, std::string words);

/// Waits until the client asks again: `config::poll_cap`.
asio::awaitable<void> wait_to_look(core_ptr);

/// Whether a candidate may stand again after this error.
bool may_stand_again(error_code) noexcept;

}  // namespace detail

/// A leadership: the election's lock is held. It is the leader while it is true. It is empty, moved
/// and destroyed as a `hold` is, and the base class has what all holds share.
///
/// Destroying it resigns.
class [[nodiscard]] leadership : public basic_hold {
public:
    leadership() noexcept = default;

    /// Of a hold of the election's lock that was acquired otherwise: with a limit, for example, by
    /// `lock::try_acquire_for`. It has published nothing yet.
    explicit leadership(hold held) noexcept : basic_hold{detail::hold_access::take(std::move(held))}
    {}

    /// The other way: the hold of the election's lock. It is empty then, and the hold leads.
    hold take_hold() noexcept { return detail::hold_access::make<hold>(std::move(state_)); }

    /// As of a hold of the election's lock.
    std::uint64_t fencing_token() const noexcept { return token(); }

    /// Gives up the leadership, so that another candidate gets it at once: `release`.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto resign(Token&& token = {})
    {
        return release(std::forward<Token>(token));
    }

    /// Tells everybody something else about the leader. The words last for 30 days: a leader that
    /// leads for longer publishes them again. Await it before the next one: of two that are under
    /// way at once either may be the last.
    ///
    /// \par Effects
    ///   `scripts/leader_publish.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - `error::lost` — it leads no more; nothing was changed.
    ///   - `error::not_held` — the leadership is empty or moved from.
    ///   - `error::invalid_argument` — more than 1 MiB of words.
    ///   - `error::wrong_type`, `error::server_refused`, `error::closed`; `error::unavailable`
    ///     after `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait for the answer; it may still be published.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto publish(std::string words, Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            "publish",
            detail::core_of(state_),
            &detail::leader_publish,
            std::forward<Token>(token),
            state_,
            std::move(words)
        );
    }
};

/// Leader election: of all candidates at most one leads, and everybody can see which.
///
/// In Redis it is a `lock` of that name, and beside it a hash `colock_leader:{name}` with what the
/// leader says of itself.
///
/// \par Guarantees
///   Of the candidates that run, at most one leads. If its renewals fail, a leader is told of its
///   end before another one can lead, by the clock of its own process; no connection is needed for
///   that, and what happens to connections never makes a leader. If somebody deletes or forces the
///   lock, or the server loses it, it is told at its next renewal, a third of the lease later at
///   the latest. A process that does not run can't be told: give the leader's token to what it
///   writes to (`colock::fence`). If a leader dies, another one leads within the lease.
///
///   The words of a former leader are never shown as those of its successor.
/// \par Executor
///   The coroutines run on the executor of their caller, and the work of `lead` and `stand` on a
///   strand of it, so that a loss can cancel it also on a pool of threads. A handler runs on its
///   associated executor, or on the client's if it has none; never inline, and never on the
///   client's strand.
/// \par Thread-safety
///   An immutable handle: distinct and shared objects are safe, from any thread.
/// \par Lifetimes
///   The election shares ownership of the client's state; the coroutines copy what they need. It
///   must not outlive the execution context.
class election {
public:
    /// The election `name` at the client's server. Sends nothing. The options are those of each
    /// acquire: `{.lease = 5s, .renew = true}` replaces a dead leader within five seconds. A
    /// candidate does not enter again what its owner (`as`) leads already: `would_deadlock`.
    election(client const& where, std::string name, acquire_options options = {})
        : core_{where.core_}
        , office_{where, std::move(name)}
        , options_{options}
    {
        options_.re_entrant = false;  // otherwise two candidates of one owner would lead at once
    }

    std::string const& name() const noexcept { return office_.name(); }

    /// Waits until it leads, and publishes `words`.
    ///
    /// \par Effects
    ///   `lock::acquire`, then `leadership::publish`.
    /// \par Throws
    ///   `boost::system::system_error` with an error of these two; its text names the election. It
    ///   does not lead then.
    /// \par Cancellation
    ///   terminal, partial, total: it does not lead.
    boost::asio::awaitable<leadership> campaign(std::string words) const
    {
        return campaign_for(office_, options_, std::move(words));
    }

    /// One term: waits until it leads, runs the coroutine `work(leadership&)`, cancels it
    /// (terminal) if the leadership is lost, and resigns on every way out.
    ///
    /// \par Returns
    ///   The result of `work`.
    /// \par Throws
    ///   - `boost::system::system_error` with `error::lost` — the leadership was lost while the
    ///     work ran, and the client knew that before the work ended. Its result or exception is
    ///     dropped. A loss that only the release finds is in the log, and the result is returned.
    ///   - the same with `error::closed` — the client was closed.
    ///   - the errors of `campaign`, and the exceptions of `work`.
    /// \par Cancellation
    ///   Passed on to the campaign or to the work; it resigns in the background.
    /// \par Lifetimes
    ///   The work is copied into the coroutine.
    template <class Work>
    auto lead(std::string words, Work work) const
    {
        return lead_for(campaign(std::move(words)), std::move(work), name());
    }

    /// Stands for election until the work is done: as `lead`, but after a loss it campaigns again,
    /// and after a `condition::retryable` error it does so a `config::poll_cap` later. The work may
    /// so run several times, each time as another leader, and its result is dropped.
    ///
    /// \par Throws
    ///   As `lead`, without the losses and the retryable errors. So work whose own exception is one
    ///   of these runs again.
    /// \par Cancellation and lifetimes
    ///   As `lead`.
    template <class Work>
    boost::asio::awaitable<void> stand(std::string words, Work work) const
    {
        return stand_for(*this, std::move(words), std::move(work));
    }

    /// The leader now. Anybody may ask.
    ///
    /// \par Effects
    ///   `scripts/leader_read.lua`, one round trip. The answer may be out of date when it arrives.
    /// \par Completion signature
    ///   `void(error_code, std::optional<leader>)`; empty if nobody leads.
    /// \par Errors
    ///   `error::invalid_argument`, `error::wrong_type`, `error::server_refused`, `error::closed`;
    ///   `error::unavailable` after `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait.
    template <detail::token_for<detail::seen_leader> Token = detail::default_token>
    auto current(Token&& token = {}) const
    {
        return detail::initiate<detail::seen_leader>(
            "current", core_, &detail::leader_current, std::forward<Token>(token), name()
        );
    }

    /// Waits until the leader is another one, or says something else, than in `seen`; and says who
    /// leads then. It asks at once, and then each `config::poll_cap`, so a change is seen that much
    /// later at most, and two changes in between are seen as one. While the server is away, it
    /// waits.
    ///
    /// \par Throws
    ///   The errors of `current` that are not retryable.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait.
    boost::asio::awaitable<std::optional<leader>> next(std::optional<leader> seen) const
    {
        return next_after(*this, std::move(seen));
    }

    /// Calls `changed(std::optional<leader>)` with the leader now, and after each change. Runs
    /// until it is cancelled, `changed` throws, or an error of `next`.
    template <class Changed>
    boost::asio::awaitable<void> observe(Changed changed) const
    {
        return observe_with(*this, std::move(changed));
    }

private:
    static boost::asio::awaitable<leadership> campaign_for(
        lock office, acquire_options options, std::string words
    );

    /// As `current`, but waits while the server is away.
    static boost::asio::awaitable<std::optional<leader>> answered(election self);

    static boost::asio::awaitable<std::optional<leader>> next_after(
        election self, std::optional<leader> seen
    );

    template <class Work>
    static auto lead_for(
        boost::asio::awaitable<leadership> campaigning, Work work, std::string name
    ) -> boost::asio::awaitable<detail::work_result<Work, leadership>>
    {
        leadership mine = co_await std::move(campaigning);
        // The work is done: a campaign for it would do it twice.
        auto const late = detail::late_loss::logged;
        co_return co_await detail::run_and_release(mine, work, "lead " + name, late);
    }

    template <class Work>
    static boost::asio::awaitable<void> stand_for(election self, std::string words, Work work)
    {
        for (;;) {
            bool has_lost = false;
            try {
                co_await self.lead(words, work);
                co_return;
            } catch (boost::system::system_error const& e) {
                if (!detail::may_stand_again(e.code()))
                    throw;
                has_lost = e.code() == error::lost;
            }
            if (!has_lost)
                co_await detail::wait_to_look(self.core_);
        }
    }

    template <class Changed>
    static boost::asio::awaitable<void> observe_with(election self, Changed changed)
    {
        std::optional<leader> now = co_await answered(self);
        for (;;) {
            changed(now);
            now = co_await self.next(now);
        }
    }

    detail::client_share core_;
    lock office_;
    acquire_options options_;
};

}  // namespace v0_3
}  // namespace colock
