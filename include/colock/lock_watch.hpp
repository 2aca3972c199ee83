// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/lock.hpp>
#include <colock/lock_event.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace colock {
inline namespace v0_3 {

namespace detail {

class watch_state;
using watch_ptr = std::shared_ptr<watch_state>;
using heard_event = void(error_code, lock_event);

watch_ptr begin_watch(core_ptr, lock_id const&, std::size_t limit);
void end_watch(core_ptr const&, watch_ptr const&) noexcept;
short_name name_of_watched(watch_ptr const&) noexcept;
short_name name_of(watch_ptr const& watch, auto const&...) noexcept
{
    return name_of_watched(watch);
}
void next_event(core_ptr, handler<heard_event>, watch_ptr);
void ask_to_release(core_ptr, handler<answered_bool>, lock_id const&);

}  // namespace detail

/// Tells what happens to a lock, as far as the server's messages say: Redisson's lock listeners. It
/// sends nothing but subscriptions and never asks the server, so it is a hint for people and
/// programs, and proves nothing: use a `hold` for what must be true.
///
/// A release publishes a message, which this hears. That somebody has acquired the lock, that its
/// lease has ended, or that its key was deleted by hand is told only by the server's keyspace
/// events: `notify-keyspace-events` has to have `Kghx`. A cluster does not send them to other
/// nodes, so there a watch hears releases alone. A release of a fair lock tells nobody but the next
/// in its queue, so of a fair lock a watch hears keyspace events alone. A hand-over from one task
/// of a client to the next is no step at the server, and no event.
///
/// If this client and the one that releases have `publishing::both`, a watch hears one release as
/// two. It drops neither, because a client that publishes in one way alone may have released the
/// lock between them.
///
/// It keeps at most a number of events that nobody has asked for yet. If there are more, it drops
/// them, and `lock_event::kind::live` stands in their place.
///
/// Other clients count a watching client as one that waits for the lock, and may stand back for it
/// for a moment after a release.
///
/// Move-only. It is empty when it is moved from.
///
/// \par Executor
///   A handler runs on its associated executor, or on the client's if it has none (for an empty
///   watch, on the system executor); never inline, and never on the client's strand.
/// \par Thread-safety
///   Distinct watches are safe, a shared one is not.
/// \par Lifetimes
///   It shares ownership of the client's state, and keeps the client's connections open. It must
///   not outlive the execution context.
class lock_watch {
public:
    /// Begins to watch the lock. `limit`: the most events to keep, at least 1.
    explicit lock_watch(basic_lock<detail::lock_id> const& of, std::size_t limit = 64)
        : core_{of.core_}
        , state_{detail::begin_watch(of.core_, of.id_, limit)}
    {}

    /// Leaves `other` empty.
    lock_watch(lock_watch&& other) noexcept = default;

    /// Ends this watch, and takes over from `other`, which is empty then.
    lock_watch& operator=(lock_watch&& other) noexcept
    {
        if (this != &other) {
            detail::end_watch(core_, state_);
            core_ = std::move(other.core_);
            state_ = std::move(other.state_);
        }
        return *this;
    }

    /// Ends the watch. A pending `next` completes with `operation_aborted`.
    ~lock_watch() { detail::end_watch(core_, state_); }

    /// Waits for the next event. The first one is `live`: ask `is_locked` then to know how things
    /// stand. After a lost connection `live` comes again.
    ///
    /// \par Completion signature
    ///   `void(error_code, lock_event)`
    /// \par Completes when
    ///   There is an event, or one of the errors. If several calls wait, each gets an event of its
    ///   own, in the order of the calls.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, or a limit of 0. Nothing was
    ///   sent.
    ///   - `error::closed` — the client was closed or stopped, and the watch has ended.
    ///   - `error::invalid_config`, `error::invalid_tls` — the client cannot connect.
    ///   If the server does not allow the user the channel, `live` never comes, and the log says
    ///   so.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted`; the watch goes on,
    ///   and no event is lost.
    template <detail::token_for<detail::heard_event> Token = detail::default_token>
    auto next(Token&& token = {}) const
    {
        return detail::initiate<detail::heard_event>(
            "next", core_, &detail::next_event, std::forward<Token>(token), state_
        );
    }

    /// Asks the holder of the lock to let go of it, for example before a planned hand-over. A
    /// request is a message to all watches of that name, which hear `lock_event::kind::requested`.
    /// It is up to the holder's program whether it releases the lock, and when: nothing is taken
    /// away. Ask for a `lock` that the holder watches as the same kind.
    ///
    /// \par Effects
    ///   `scripts/request.lua`, one round trip. The message goes to the channel of the lock's
    ///   releases with `:request` behind it. Redisson does not listen there.
    /// \par Completion signature
    ///   `void(error_code, bool)`: whether somebody listens, for example a watch that has just
    ///   ended. In a cluster without sharded channels only listeners at the same node are counted.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name. Nothing was sent.
    ///   - `error::server_refused` — an ACL user needs +publish and the channel, `&redisson_*`.
    ///   - `error::bad_reply`, and those of every operation; see `client`.
    /// \par Cancellation
    ///   terminal, partial, total. The message may have gone out.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    static auto ask_to_release(basic_lock<detail::lock_id> const& of, Token&& token = {})
    {
        return detail::initiate<detail::answered_bool>(
            "ask_to_release", of.core_, &detail::ask_to_release, std::forward<Token>(token), of.id_
        );
    }

private:
    detail::core_ptr core_;
    detail::watch_ptr state_;
};

}  // namespace v0_3
}  // namespace colock
