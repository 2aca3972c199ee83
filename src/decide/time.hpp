#pragma once

#include <chrono>

namespace colock::decide {

using std::chrono::milliseconds;

/// Of the steady clock.
using time_point = std::chrono::steady_clock::time_point;

inline constexpr time_point never = time_point::max();

}  // namespace colock::decide
