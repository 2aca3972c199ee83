// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/owner.hpp>

#include <chrono>
#include <optional>

namespace colock {
inline namespace v0_3 {

/// How to hold a lock. Plain fields for designated initializers: `lock.acquire({.lease = 3s, .as =
/// me})`.
struct acquire_options {
    /// None: the lock gets `config::lease`, and the client renews it while it is held. A value: the
    /// lock is held that long and not renewed, unless `renew` says so; at least 10 ms, at most ten
    /// years.
    std::optional<std::chrono::milliseconds> lease{};

    /// The owner of the hold. None: a new owner for this call, so that two coroutines never share a
    /// lock by accident.
    std::optional<owner> as{};

    /// How many replicas must acknowledge the lock before it counts as held. The client waits for
    /// them for `config::sync_timeout`, but at most a quarter of the lease. If fewer acknowledge,
    /// it releases the lock again: `try_acquire` fails with `error::not_replicated`, and a waiter
    /// tries again. A lock that a replica has acknowledged is still lost if another replica is
    /// promoted. At most 100.
    int sync_replicas = 0;

    /// Whether the client renews `lease` as it renews `config::lease`: every third of it, while the
    /// hold lives. The lease is then at least 100 ms. Without a `lease` this changes nothing.
    bool renew = false;

    /// Whether the owner `as` may enter a lock again that it holds. If false, such an acquire ends
    /// with `error::would_deadlock`, and nothing is sent: use it to find code that takes one lock
    /// twice. One that waits already ends so when its owner gets the lock. Not for a group lock,
    /// which enters again itself if a part is named twice.
    bool re_entrant = true;

    /// How long the lock stays taken, counted from the grant, even if its hold is released or
    /// destroyed earlier. So the work under it is done at most once per period, by the first
    /// process that comes (`once_per`). 0: the release frees the lock.
    ///
    /// The lease is at least this long, so the lock also stays taken if the process dies; a
    /// `lease` that is shorter and not renewed is an `error::invalid_argument`. Not for the read
    /// side of a read-write lock, a group lock or a permit. Nor for a writer that also reads, as
    /// long as the time runs: the second of the two acquires is then an `error::invalid_argument`,
    /// because the reader would keep the lock taken for longer. At most ten years.
    std::chrono::milliseconds at_least{0};
};

}  // namespace v0_3
}  // namespace colock
