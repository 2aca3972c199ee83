// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// A `lock` whose waiters try again after pauses instead of waiting for a message, as those of
/// Redisson's `getSpinLock` do. It has the same key as a `lock` and Redisson's RLock, so that all
/// of these exclude each other.
///
/// Use it where the server does not let the client subscribe, for locks that are seldom contended
/// and held for a few milliseconds. Otherwise `lock` is faster and fairer: a waiter here finds the
/// lock free only by chance.
///
/// \par Effects
///   As `lock`, with the same scripts and keys, but without a subscription. After a refusal the
///   waiter pauses as `backoff` says, at most until the holder's lease ends, and tries again. The
///   waiters of one client form one queue, as with `lock`; a hand-over to its head needs a script,
///   which confirms the field. A release publishes a message, because others may wait with a
///   `lock`.
/// \par Errors
///   As `lock`, and `error::invalid_argument` if the backoff is out of its bounds.
///
/// Guarantees, executor, thread-safety and lifetimes are as for `lock`.
class spin_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name`, and the pauses of waiters that wait through this object. Sends nothing.
    spin_lock(client const& where, std::string name, backoff waits = {})
        : basic_lock{where, {std::move(name), detail::lock_kind::spin, waits}}
    {}
};

}  // namespace v0_3
}  // namespace colock
