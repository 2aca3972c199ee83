// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// A `lock` whose waiters try again after pauses instead of subscribing: Redisson's RSpinLock, on
/// the same key as its RLock, so that the two exclude each other.
///
/// For a lock that is seldom contended and then held for a few milliseconds, where thousands of
/// names make a subscription each too many. Elsewhere `lock` is faster, and fairer: who waits here
/// finds the lock free by chance.
///
/// \par Effects
///   As `lock`, with the same scripts and keys; but nobody subscribes. Who is refused pauses as
///   `backoff` says, at most until the holder's lease ends, and tries again. Waiters of one client
///   stand in one queue as those of `lock` do; a hold that is released goes to the head by a
///   script, which confirms the field. A release publishes, for others may wait with a `lock`.
/// \par Errors
///   As `lock`, and `error::invalid_argument` for a backoff out of its bounds.
///
/// Guarantees, executor, thread-safety and lifetimes are those of `lock`.
class spin_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name`, and the pauses of those who wait through this object. Nothing is sent.
    spin_lock(client const& where, std::string name, backoff waits = {})
        : basic_lock{where, {std::move(name), detail::lock_kind::spin, waits}}
    {}
};

}  // namespace colock
