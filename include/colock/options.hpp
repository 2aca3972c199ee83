// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/durability.hpp>
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

    /// `durability` as a number of replicas. 0: `durability` says it, and if that is not set
    /// either, `config::durability`. At most 100. Both in one call are an
    /// `error::invalid_argument`.
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

    /// The copies that the lock must have, besides that in the primary's memory, before it counts
    /// as held. None: `config::durability`.
    ///
    /// It is of the whole hold. The acquire, each re-entry and each extension to more wait for
    /// these copies, for `config::sync_timeout`, but at most a quarter of the lease. If there are
    /// too few in time, the client undoes the step: `try_acquire` and `extend` fail with
    /// `error::not_replicated`, and a waiter tries again. A renewal that too few have is as one
    /// without an answer: the hold is lost at the end of its last lease that these copies had. The
    /// release is not waited for: it completes by the primary's answer, and the client sends it
    /// again, to the server that is the primary then, until they have it
    /// (`client_stats::owed_copies`).
    ///
    /// \par Errors
    ///   `error::unsupported`: as far as is known, there are never that many replicas, or the
    ///   server lacks WAIT or WAITAOF, refuses it, or writes no AOF.
    std::optional<colock::durability> durability{};
};

}  // namespace v0_3
}  // namespace colock
