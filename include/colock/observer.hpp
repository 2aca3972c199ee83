// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock {
inline namespace v0_3 {

/// One event of one acquire. Many calls may wait for the same name; the number tells them apart.
struct acquire_step {
    enum class kind {
        waits,     ///< as `observer::waiting`
        acquired,  ///< as `observer::acquired`
        gave_up,   ///< as `observer::gave_up`
        cancelled  ///< as `observer::cancelled`
    };

    kind what;
    std::uint64_t number;   ///< of the acquire in its client, from 1; 0 if it was cancelled
                            ///< before it began
    std::string_view name;  ///< valid during the call
    std::chrono::microseconds waited;  ///< since the acquire began
    std::uint32_t scripts;             ///< that the client has sent for it so far
};

/// A client reports its events to its observer: the place to count, to measure and to trace.
///
/// Override what you need. Each function is called on the client's strand. The views are valid
/// during the call.
///
/// \par Preconditions
///   An override is quick, does not block, throws nothing, and does not call the client back.
class observer {
public:
    using milliseconds = std::chrono::milliseconds;
    using microseconds = std::chrono::microseconds;

    virtual ~observer() = default;

    /// An acquire succeeded, `waited` after the call; the client sent `attempts` scripts for it.
    virtual void acquired(
        std::string_view /*name*/, microseconds /*waited*/, std::uint32_t /*attempts*/
    ) noexcept
    {}

    /// Somebody else has the lock, for another `lease` unless it is renewed; a caller begins to
    /// wait. Told after its first script alone: if that was lost, or the server answered nobody
    /// then (LOADING, BUSY), the wait ends without this having been told.
    virtual void waiting(std::string_view /*name*/, milliseconds /*lease*/) noexcept {}

    /// A caller waits for permits of a semaphore that does not exist, and has named no limit with
    /// which to make it. Told once, for as long as callers of this client wait for it.
    virtual void no_permits_set(std::string_view /*name*/) noexcept {}

    /// A wait ran out after `waited`, without the lock or the permits; the client sent `attempts`
    /// scripts for it. A call that does not wait, such as `try_acquire`, is not told.
    virtual void gave_up(
        std::string_view /*name*/, microseconds /*waited*/, std::uint32_t /*attempts*/
    ) noexcept
    {}

    /// The caller cancelled an acquire, `waited` after the call.
    virtual void cancelled(
        std::string_view /*name*/, microseconds /*waited*/, std::uint32_t /*attempts*/
    ) noexcept
    {}

    /// The same four events once more, right after the functions above, with the number of the
    /// acquire: for logs and traces that follow each call.
    virtual void acquiring(acquire_step const& /*step*/) noexcept {}

    /// The lease of `name` was renewed; it is valid for `valid_for` from now.
    virtual void renewed(std::string_view /*name*/, milliseconds /*valid_for*/) noexcept {}

    /// A renewal was not answered; the client tries again until the hold is lost.
    virtual void renew_failed(
        std::string_view /*name*/, boost::system::error_code const& /*why*/
    ) noexcept
    {}

    /// A hold was lost: its owner can no longer rely on it.
    virtual void lost(std::string_view /*name*/, boost::system::error_code const& /*why*/) noexcept
    {}

    /// A hold was released by its owner after `held`.
    virtual void released(std::string_view /*name*/, microseconds /*held*/) noexcept {}

    /// The release of a hold found that the server no longer had the lock, so another owner may
    /// have had it while the work went on. `released` came before. It was deleted, forced or lost
    /// by the server, and no renewal was due in the meantime; with `config::instant_notice` mostly
    /// `lost` comes instead.
    virtual void found_lost(std::string_view /*name*/) noexcept {}

    /// The lock of a released hold went to the next waiter of this client, without a command.
    /// `acquired` follows.
    virtual void handed_over(std::string_view /*name*/) noexcept {}

    /// A connection to the server is up; `link` is its number. The numbers of a server are
    /// `config::links` for commands, then one for pub/sub; in a cluster the next server's numbers
    /// follow. `epoch` counts the connections of the link, from 1.
    virtual void link_up(std::size_t /*link*/, std::uint64_t /*epoch*/) noexcept {}

    /// The connection is down; the client reconnects, unless `why` is `error::closed`: nothing
    /// needs the connection now.
    virtual void link_down(std::size_t /*link*/, boost::system::error_code const& /*why*/) noexcept
    {}

    /// The server refused the subscription to `channel`. Its waiters ask again when the holder's
    /// lease ends and each `config::poll_cap`.
    virtual void subscription_failed(
        std::string_view /*channel*/, boost::system::error_code const& /*why*/
    ) noexcept
    {}
};

namespace detail {

/// Stands for no observer.
class silent_observer final : public observer {};

}  // namespace detail

}  // namespace v0_3
}  // namespace colock
