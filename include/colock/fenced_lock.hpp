// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// A `lock` whose fencing tokens are Redisson's: its RFencedLock, on the same keys, so that Java
/// and C++ use one counter.
///
/// The counter is `redisson_lock_token:{name}`. Each ownership takes the next number from it;
/// re-entry keeps the token. The counter has no floor: after a FLUSHALL, a DEL or a failover that
/// lost writes it begins lower, and repeats tokens that a resource has already seen. If no Java
/// takes part, use `lock`, whose tokens keep growing (`config::fencing`). Never use both kinds in
/// front of the same resource: their tokens can't be compared.
///
/// \par Effects
///   As `lock`, with the same scripts. A hand-over to the next waiter of this client needs a
///   script, because each token is drawn when it is needed: so Redisson's `getToken` reads the last
///   one given out. Holds have tokens whatever `config::fencing` says.
///
/// Guarantees, executor, thread-safety, lifetimes and errors are as for `lock`.
class fenced_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name` at the client's server. Sends nothing.
    fenced_lock(client const& where, std::string name)
        : basic_lock{where, {std::move(name), detail::lock_kind::fenced}}
    {}
};

}  // namespace colock
