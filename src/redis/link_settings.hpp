#pragma once

#include "base/log.hpp"
#include <colock/config.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace colock {

/// How soon a silent server is noticed: soon enough to connect and renew again within a lease.
inline std::chrono::milliseconds silence_limit(config const& c) noexcept
{
    using std::chrono::milliseconds;
    return std::clamp(c.lease / 6, milliseconds{100}, milliseconds{2'000});
}

inline std::string describe(address const& a)
{
    return a.unix_socket.empty() ? a.host + ":" + std::to_string(a.port) : a.unix_socket;
}

}  // namespace colock
