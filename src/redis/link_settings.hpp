#pragma once

#include "resp/pipeline.hpp"
#include <colock/config.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

namespace colock {

/// How long a server may be silent before the client sends a PING. After as long again it counts as
/// gone: soon enough to reconnect and renew within a lease.
inline std::chrono::milliseconds silence_limit(config const& c) noexcept
{
    using std::chrono::milliseconds;
    if (c.silence_timeout)
        return std::max(*c.silence_timeout / 2, milliseconds{1});
    return std::clamp(c.lease / 6, milliseconds{100}, milliseconds{2'000});
}

/// How long each step of connecting may take: the name, the address, TLS, the set-up.
inline std::chrono::milliseconds connect_limit(config const& c) noexcept
{
    using std::chrono::milliseconds;
    if (c.connect_timeout)
        return *c.connect_timeout;
    return 2 * std::clamp(c.lease / 6, milliseconds{100}, milliseconds{2'000});
}

inline resp::time_limits time_limits_of(config const& c) noexcept
{
    resp::time_limits p;
    p.silence = silence_limit(c);
    return p;
}

inline resp::limits reply_limits(config const& c) noexcept
{
    resp::limits most;
    most.string_bytes = most.message_bytes = c.max_reply_size;
    // An element takes some 90 bytes here, but may be three bytes of the reply.
    most.elements = std::max<std::size_t>(c.max_reply_size / 64, 4'096);
    return most;
}

/// Before a server has accepted us, its replies are short.
inline resp::limits set_up_limits() noexcept
{
    resp::limits most;
    most.string_bytes = most.message_bytes = std::size_t{256} << 10U;
    most.elements = 4'096;
    return most;
}

/// A map of a large cluster is long: each of 16,384 slots may be a range of its own.
inline resp::limits map_limits() noexcept
{
    auto most = set_up_limits();
    most.message_bytes = std::size_t{16} << 20U;
    most.elements = std::size_t{1} << 20U;
    return most;
}

/// Allows whatever either of them allows.
inline resp::limits larger(resp::limits const& a, resp::limits const& b) noexcept
{
    auto most = a;
    most.string_bytes = std::max(a.string_bytes, b.string_bytes);
    most.message_bytes = std::max(a.message_bytes, b.message_bytes);
    most.elements = std::max(a.elements, b.elements);
    return most;
}

/// A server's text for people: without the arguments of the command that it quotes, without the
/// secrets of the config and without `secret`, short enough for a line, and printable. Secrets of
/// up to four bytes are hidden as words of their own alone.
std::string redacted(std::string_view server_text, config const&, std::string_view secret = {});

/// The servers of a client, for people.
inline std::string describe_servers(config const& c)
{
    auto first = c.addresses.empty() ? std::string{} : describe(c.addresses.front());
    switch (c.topology) {
    case topology::single: return first;
    case topology::sentinel: return "the primary of " + c.master_name;
    case topology::cluster: return "the cluster of " + first;
    case topology::replicated: return "the primary of " + first;
    }
    return first;
}

/// Errors that waiting does not cure: waiting steps are answered with them at once.
inline bool is_refusal(error_code ec) noexcept
{
    return ec == error::server_refused || ec == error::wrong_topology || ec == error::unsupported ||
        ec == error::tls_refused;
}

}  // namespace colock
