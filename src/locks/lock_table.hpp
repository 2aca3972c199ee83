#pragma once

#include "holds/lock_traits.hpp"

#include <span>

namespace colock {

/// The table of all kinds of locks.
std::span<lock_traits const> all_lock_traits() noexcept;

lock_traits const& traits_of(lock_kind) noexcept;

}  // namespace colock
