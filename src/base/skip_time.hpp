#pragma once

#include "base/clock.hpp"

namespace colock {

/// Moves the time of the whole process forward. It goes on from there, and never back. For the test
/// doubles of users.
void skip_time(clock::duration) noexcept;

}  // namespace colock
