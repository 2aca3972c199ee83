#pragma once

#include <chrono>
#include <string>

// What must take effect once carries a number, and the server keeps the last one of each client and
// key for some time.
namespace colock::decide {

/// How long the server keeps it. One small key for each client and name, so there is no haste.
inline constexpr std::chrono::milliseconds once_life = std::chrono::hours{1};

inline std::string once_life_text() { return std::to_string(once_life.count()); }

/// Until when a request that may have run may be sent again: while its record is surely there.
constexpr std::chrono::steady_clock::time_point repeat_until(
    std::chrono::steady_clock::time_point first_sent
) noexcept
{
    return first_sent + (once_life - once_life / 50);
}

}  // namespace colock::decide
