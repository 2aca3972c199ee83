// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>

namespace colock {
inline namespace v0_3 {

/// A logical task that holds locks, as a Java thread does with Redisson.
///
/// Copies are the same owner; each default-constructed one is new. If you pass the owner of a hold
/// to another `acquire` of the same name in the same client, the call re-enters the lock instead of
/// waiting for it. Only this process knows its owners: Redis stores a number for each ownership, so
/// no late message can touch a later one.
///
/// \par Thread-safety
///   A value; distinct and shared objects are safe.
class owner {
public:
    /// A new owner, equal to no other in this process.
    owner() noexcept;

    /// A number that no other owner of this process has. `client::inspect` and the report of a
    /// client show it.
    std::uint64_t number() const noexcept { return id_; }

    friend bool operator==(owner const&, owner const&) noexcept = default;

private:
    std::uint64_t id_;
};

}  // namespace v0_3
}  // namespace colock
