// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock {

/// Is told what a client does: the place to count, to measure and to trace.
///
/// Override what you need. Each function is called on the client's strand, so it must be quick,
/// must not block, and must not call the client back. The views are valid during the call.
class observer {
public:
    using milliseconds = std::chrono::milliseconds;
    using microseconds = std::chrono::microseconds;

    virtual ~observer() = default;

    /// A hold was given out, `waited` after the call, with `attempts` scripts sent for it.
    virtual void acquired(
        std::string_view /*name*/, microseconds /*waited*/, std::uint32_t /*attempts*/
    ) noexcept
    {}

    /// Somebody else has the lock for another `lease`; a caller begins to wait.
    virtual void waiting(std::string_view /*name*/, milliseconds /*lease*/) noexcept {}

    /// The lease of `name` was renewed and runs until `valid_for` from now.
    virtual void renewed(std::string_view /*name*/, milliseconds /*valid_for*/) noexcept {}

    /// A renewal was not answered; it is tried again until the hold is lost.
    virtual void renew_failed(
        std::string_view /*name*/, boost::system::error_code const& /*why*/
    ) noexcept
    {}

    /// A hold was lost: it may not be relied on any more.
    virtual void lost(std::string_view /*name*/, boost::system::error_code const& /*why*/) noexcept
    {}

    /// A hold was released by its owner after `held`.
    virtual void released(std::string_view /*name*/, microseconds /*held*/) noexcept {}

    /// The lock of a released hold went to the next waiter of this client, without a command.
    /// `acquired` follows.
    virtual void handed_over(std::string_view /*name*/) noexcept {}

    /// A connection to the server is up; `link` is its number. A server has `config::links` of
    /// them, then one for pub/sub and one for `sync_replicas`; in a cluster those of the next
    /// server follow.
    virtual void link_up(std::size_t /*link*/, std::uint64_t /*epoch*/) noexcept {}

    /// It is down; it is being connected again.
    virtual void link_down(std::size_t /*link*/, boost::system::error_code const& /*why*/) noexcept
    {}

    /// The server refused to subscribe to `channel`; its waiters go on by lease and poll cap.
    virtual void subscription_failed(
        std::string_view /*channel*/, boost::system::error_code const& /*why*/
    ) noexcept
    {}
};

}  // namespace colock
