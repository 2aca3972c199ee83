// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/owner.hpp>

#include <chrono>
#include <optional>

namespace colock {

/// How to hold a lock. Plain fields for designated initializers: `lock.acquire({.lease = 3s, .as =
/// me})`.
struct acquire_options {
    /// None: the lock gets `config::lease`, and the client renews it while it is held. A value: the
    /// lock is held that long and not renewed; at least 10 ms, at most ten years.
    std::optional<std::chrono::milliseconds> lease{};

    /// The owner of the hold. None: a new owner for this call, so that two coroutines never share a
    /// lock by accident.
    std::optional<owner> as{};

    /// How many replicas must acknowledge the lock before it counts as held. The client waits for
    /// them for `config::sync_timeout`, but at most a quarter of the lease, and at most half of the
    /// time after which a silent server counts as gone. If fewer acknowledge, it releases the lock
    /// again: `try_acquire` fails with `error::not_replicated`, and a waiter tries again. A lock
    /// that a replica has acknowledged is still lost if another replica is promoted. At most 100.
    int sync_replicas = 0;
};

}  // namespace colock
