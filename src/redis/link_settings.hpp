#pragma once

#include "base/log.hpp"
#include <colock/config.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace colock {

/// How long a server may be silent before it is asked whether it is there; as long again, and it
/// counts as gone: soon enough to connect and renew again within a lease.
inline std::chrono::milliseconds silence_limit(config const& c) noexcept
{
    using std::chrono::milliseconds;
    if (c.silence_timeout)
        return std::max(*c.silence_timeout / 2, milliseconds{1});
    return std::clamp(c.lease / 6, milliseconds{100}, milliseconds{2'000});
}

/// How long a connection may take to come up.
inline std::chrono::milliseconds connect_limit(config const& c) noexcept
{
    using std::chrono::milliseconds;
    if (c.connect_timeout)
        return *c.connect_timeout;
    return 2 * std::clamp(c.lease / 6, milliseconds{100}, milliseconds{2'000});
}

inline std::string describe(address const& a)
{
    if (!a.unix_socket.empty())
        return a.unix_socket;
    bool const is_v6 = a.host.find(':') != std::string::npos;
    return (is_v6 ? "[" + a.host + "]" : a.host) + ":" + std::to_string(a.port);
}

/// Errors that no waiting mends: what waits to be sent is answered with them at once.
inline bool is_refusal(error_code ec) noexcept
{
    return ec == error::server_refused || ec == error::wrong_topology || ec == error::unsupported ||
        ec == error::tls_refused;
}

}  // namespace colock
