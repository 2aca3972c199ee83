#pragma once

#include "decide/time.hpp"

#include <chrono>
#include <string>

namespace colock::decide {

/// "10.2 s".
inline std::string in_seconds(time_point::duration time)
{
    auto const tenths = std::chrono::duration_cast<milliseconds>(time).count() / 100;
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
}

}  // namespace colock::decide
