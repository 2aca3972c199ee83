#pragma once

#include "base/clock.hpp"

namespace colock {

/// Moves the time of the whole process on. It goes on from there, and never back. For the doubles
/// that users test with.
void skip_time(clock::duration) noexcept;

}  // namespace colock
