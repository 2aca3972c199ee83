// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>

namespace colock {

/// A logical task: who holds a lock, as a Java thread does with Redisson.
///
/// Copies are the same owner; each default-made one is new. Passing the owner of a hold to
/// another `acquire` of the same name, in the same client, re-enters the lock instead of waiting
/// for it. An owner is known to this process alone: what Redis stores is a number for each
/// ownership, so no late message can touch a later one.
///
/// \par Thread-safety
///   A value; distinct and shared objects are safe.
class owner {
public:
    /// A new owner, equal to no other in this process.
    owner() noexcept;

    friend bool operator==(owner const&, owner const&) noexcept = default;

private:
    std::uint64_t id_;
};

}  // namespace colock
