// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

namespace colock {
inline namespace v0_3 {

/// The copies that a step of a lock must have before it counts, besides that in the memory of the
/// primary. After a failover to a server that has such a copy the lock is still there.
///
/// `R` is the number of replicas of the primary: `config::replicas`, or else the most that the
/// client has seen or been told of.
enum class durability {
    none,      ///< nobody: a failover may lose the last moment
    replica,   ///< one replica
    majority,  ///< with the primary a majority of the R + 1 copies: ⌊(R + 1) / 2⌋ replicas
    all,       ///< all R replicas
    disk       ///< the primary's disk (Redis 7.2 or Valkey, with AOF), and `majority` if R > 0
};

/// How many of the `there` replicas of a primary have to have a step. One that is asked for has to
/// be there, but on disk.
constexpr unsigned replicas_for(durability asked, unsigned there) noexcept
{
    auto const half = (there + 1) / 2;
    switch (asked) {
    case durability::none: break;
    case durability::replica: return 1;
    case durability::majority: return half == 0 ? 1 : half;
    case durability::all: return there == 0 ? 1 : there;
    case durability::disk: return half;
    }
    return 0;
}

}  // namespace v0_3
}  // namespace colock
