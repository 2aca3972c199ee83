#pragma once

#include "decide/time.hpp"

#include <chrono>
#include <string>

// A request that must take effect once carries a number. The server keeps a record: the number of
// the last request of each client and key, for some time.
namespace colock::decide {

/// How long the server keeps the record. It is one small key for each client and name, so it may
/// live long.
inline constexpr milliseconds record_life = std::chrono::hours{1};

inline std::string record_life_text() { return std::to_string(record_life.count()); }

/// The time until which a request that may have run may be sent again, because its record surely
/// exists.
constexpr time_point repeat_until(time_point first_sent) noexcept
{
    return first_sent + (record_life - record_life / 50);
}

}  // namespace colock::decide
