// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// A `lock` that is given to its waiters in the order of their arrival, over all clients:
/// Redisson's FairLock, on the same keys and channels, so that Java and C++ stand in one queue.
///
/// In Redis it is the hash of `lock`, and beside it the list `redisson_lock_queue:{name}` of those
/// who wait and the sorted set `redisson_lock_timeout:{name}`, which says when each counts as dead
/// to Redisson; all times are the server's. In `colock_lock_tickets:{name}` stands until when each
/// waiter of colock's is known to live. A waiter is told alone, on
/// `redisson_lock__channel:{name}:<field>`, that its turn has come. The three go when nobody waits;
/// if only the dead do, the client that has released takes them out after 5 s.
///
/// \par Effects
///   `acquire` is `scripts/fair_acquire.lua`, one round trip if the lock is free and nobody waits.
///   Else the caller has a place in the queue; it subscribes to a channel of its own, asks again
///   when that is confirmed, and when it is told. So a waiter costs two tries, a subscription and a
///   third try. `scripts/fair_keep.lua` keeps its place for 5 s, every 1.7 s, for up to 128 waiters
///   a call. The first waiter of a client also asks when the holder's lease ends and each
///   `config::poll_cap`. `release` is `scripts/fair_release.lua`.
///
///   Nothing is handed over inside the client: its waiters stand in the one queue with all others.
///   So a lock that many want costs a round trip, a message and another round trip a turn;
///   `config::max_tenure` says nothing here. The channel of a waiter that has gone stays subscribed
///   for `config::linger`.
///
///   `try_acquire` takes no place in the queue, and is empty while others wait. Who is cancelled,
///   whose wait runs out and whose client closes takes his place along, by `fair_release`.
///   `force_release` is `scripts/fair_force.lua`; the queue stays.
/// \par Guarantees
///   Those of `lock`. Of the waiters that live and whose connection is up, the one whose first try
///   came to the server first is first. Waiters that died delay the living by at most 5 s in all,
///   however many they are. Who can't reach the server for more than 3 s may lose his place, which
///   is no error: he goes to the end of the queue; those of one client do so in their order.
/// \par Differences from lock
///   Who holds the lock hears at its next renewal that another client has forced it: there is no
///   channel to hear it from. The owner of a hold who waits for the same lock, because he asked
///   before he had it, is let in at once and leaves the queue.
/// \par Together with Redisson
///   Its defects remain where its scripts run. Behind a waiter of Redisson's that died everybody
///   waits for five minutes or more, and Redisson's waiters ask without a pause meanwhile; here
///   they ask each `config::poll_cap`. The same befalls Redisson's waiters behind one of ours that
///   died, unless one of ours waits too, which takes it away. Redisson tells the dead by the clocks
///   of its clients, so these must be right; and a Redisson waiter with a wait of its own shifts
///   the times of all by it, so that some may lose their places. All must have the default
///   `fairLockWaitTimeout`, 300,000 ms.
///
///   A `lock` of the same name excludes this one, but passes the queue by, and neither tells the
///   other of its releases: use one of the two for a name.
///
/// Executor, thread-safety, lifetimes, errors and cancellation are those of `lock`.
class fair_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name` at the client's server. Nothing is sent.
    fair_lock(client const& where, std::string name)
        : basic_lock{where, {std::move(name), detail::lock_kind::fair}}
    {}
};

}  // namespace colock
