// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/owner.hpp>

#include <chrono>
#include <optional>

namespace colock {

/// How a lock is to be held. Plain fields for designated initializers:
/// `lock.acquire({.lease = 3s, .as = me})`.
struct acquire_options {
    /// None: the lock gets `config::lease` and is renewed while it is held. A value: the lock is
    /// held that long and not renewed; at least 10 ms, at most ten years.
    std::optional<std::chrono::milliseconds> lease{};

    /// Who holds it. None: a fresh owner for this call, so that two coroutines never share a lock
    /// by accident.
    std::optional<owner> as{};

    /// So many replicas must have acknowledged the lock before it counts as held; they are waited
    /// for `config::sync_timeout`, at most a quarter of the lease, and at most half of the time
    /// after which a silent server counts as gone. If fewer have, it is released again:
    /// `try_acquire` fails with `error::not_replicated`, who waits tries again. What a replica has
    /// acknowledged is lost all the same where another one is promoted. At most 100.
    int sync_replicas = 0;
};

}  // namespace colock
