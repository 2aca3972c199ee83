// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// A `lock` whose fencing tokens are Redisson's: its RFencedLock, on the same keys, so that Java
/// and C++ draw from one counter.
///
/// The counter is `redisson_lock_token:{name}`. Each ownership takes the next number from it;
/// re-entry keeps the token. It has no floor: after a FLUSHALL, a DEL or a failover that lost
/// writes it begins lower, and tokens that a resource has seen already come again. Where no Java
/// takes part use `lock`, whose tokens go on rising (`config::fencing`). The two never stand before
/// the same resource: their tokens can't be compared.
///
/// \par Effects
///   As `lock`, with the same scripts. A hold that is released goes to the next waiter of this
///   client by a script, for each token is drawn when it is needed: what Redisson's `getToken`
///   reads is the last one given out. Tokens are there whatever `config::fencing` says.
///
/// Guarantees, executor, thread-safety, lifetimes and errors are those of `lock`.
class fenced_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name` at the client's server. Nothing is sent.
    fenced_lock(client const& where, std::string name)
        : basic_lock{where, {std::move(name), detail::lock_kind::fenced}}
    {}
};

}  // namespace colock
