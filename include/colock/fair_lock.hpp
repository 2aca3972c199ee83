// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// A `lock` that its waiters get in the order of their arrival, over all clients: Redisson's
/// FairLock, on the same keys and channels, so that Java and C++ share one queue.
///
/// In Redis it is the hash of `lock` and three more keys. The list `redisson_lock_queue:{name}` is
/// the queue. The sorted set `redisson_lock_timeout:{name}` says when Redisson counts each waiter
/// as dead; all times are the server's. The sorted set `colock_lock_tickets:{name}` says until when
/// each waiter of colock is known to live. When a waiter's turn comes, a message on its own channel
/// `redisson_lock__channel:{name}:<field>` tells it. The three keys are removed when nobody waits.
/// If only dead waiters are left, the client that released the lock removes them after 5 s.
///
/// \par Effects
///   `acquire` is `scripts/fair_acquire.lua`, one round trip if the lock is free and nobody waits.
///   Otherwise the caller gets a place in the queue. It subscribes to its own channel, tries again
///   when the subscription is confirmed, and again when a message tells it that its turn has come.
///   So a waiter costs three tries and a subscription. A heartbeat, `scripts/fair_keep.lua`, keeps
///   its place for 5 s; the client sends it every 1.7 s, for up to 128 waiters per call. The first
///   waiter of a client also asks when the holder's lease ends and each `config::poll_cap`.
///   `release` is `scripts/fair_release.lua`.
///
///   There is no hand-over inside the client: its waiters are in the one queue with all others. So
///   each turn of a contended lock costs a round trip, a message and another round trip, and
///   `config::max_tenure` has no effect. The channel of a waiter that has left stays subscribed for
///   `config::linger`.
///
///   `try_acquire` takes no place in the queue, and its result is empty while others wait. When a
///   waiter is cancelled, its wait runs out, or its client closes, `fair_release` removes it from
///   the queue. `force_release` is `scripts/fair_force.lua`; the queue stays.
/// \par Guarantees
///   As for `lock`. Of the waiters that live and have a connection, the one whose first try reached
///   the server first is first. Dead waiters delay the living ones by at most 5 s in all, however
///   many there are. A waiter that can't reach the server for more than 3 s may lose its place.
///   That is not an error: it goes to the end of the queue. The waiters of one client keep their
///   order when that happens.
/// \par Differences from lock
///   An owner that began to wait for the lock before it got a hold on it is let in at once, and
///   leaves the queue.
/// \par Together with Redisson
///   Redisson's defects remain where its scripts run. Behind a dead waiter of Redisson everybody
///   waits for five minutes or more; meanwhile the other waiters of Redisson ask without a pause,
///   and colock's each `config::poll_cap`. Redisson's waiters also wait that long behind a dead
///   waiter of colock, unless a living waiter of colock is in the queue, which removes the dead
///   one. Redisson recognizes dead waiters by the clocks of its clients, so these clocks must be
///   right. A Redisson waiter that uses a wait limit shifts everybody's deadline by that limit, so
///   some may lose their places. All Redisson clients must have the default `fairLockWaitTimeout`,
///   300,000 ms.
///
///   A `lock` of the same name excludes this one, but it ignores the queue, and neither of the two
///   tells the other of its releases. Use only one of them for a name.
///
/// Executor, thread-safety, lifetimes, errors and cancellation are as for `lock`.
class fair_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name` at the client's server. Sends nothing.
    fair_lock(client const& where, std::string name)
        : basic_lock{where, {std::move(name), detail::lock_kind::fair}}
    {}
};

}  // namespace v0_3
}  // namespace colock
