// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace colock {
inline namespace v0_3 {

/// The events that a client tells its observer. The texts are valid during the call. A `name` is
/// that of the key, with `config::key_prefix`.
///
/// Many calls may wait for one name. The `number` of an acquire tells them apart: it counts the
/// acquires of the client from 1, and is 0 if the caller cancelled before the acquire began.
namespace events {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// An acquire succeeded.
struct acquired {
    std::string_view name{};
    std::uint64_t number = 0;
    microseconds waited{};       ///< since the call
    std::uint32_t attempts = 0;  ///< the scripts that the client sent for it
};

/// Somebody else has the lock, so a caller begins to wait. Told after its first script alone: if
/// that was lost, or the server answered nobody then (LOADING, BUSY), the wait ends without this
/// having been told.
struct waiting {
    std::string_view name{};
    std::uint64_t number = 0;
    microseconds waited{};  ///< since the call
    milliseconds lease{};   ///< the other one has it for this long, unless it is renewed
};

/// A caller waits for permits of a semaphore that does not exist, and has named no limit with which
/// to make it. Told once, for as long as callers of this client wait for it.
struct no_permits_set {
    std::string_view name{};
};

/// A wait ran out without the lock or the permits. A call that does not wait, such as
/// `try_acquire`, is not told.
struct gave_up {
    std::string_view name{};
    std::uint64_t number = 0;
    microseconds waited{};       ///< since the call
    std::uint32_t attempts = 0;  ///< the scripts that the client sent for it
};

/// The caller cancelled an acquire.
struct cancelled {
    std::string_view name{};
    std::uint64_t number = 0;
    microseconds waited{};       ///< since the call
    std::uint32_t attempts = 0;  ///< the scripts that the client sent for it
};

/// A lease was renewed.
struct renewed {
    std::string_view name{};
    milliseconds valid_for{};  ///< from now
};

/// A renewal was not answered; the client tries again until the hold is lost.
struct renew_failed {
    std::string_view name{};
    boost::system::error_code why{};
    std::string_view cause{};  ///< the words of the server or of the connection, or the message
};

/// A hold was lost: its owner can no longer rely on it.
struct lost {
    std::string_view name{};
    std::string_view
        holder{};  ///< as `colock info` shows it: client and number, or the permit's id
    boost::system::error_code why{};
    std::string_view cause{};  ///< in words
};

/// A hold was released by its owner.
struct released {
    std::string_view name{};
    microseconds held{};  ///< since it was acquired
};

/// The release of a hold found that the server no longer had the lock, so another owner may have
/// had it while the work went on. `released` came before. It was deleted, forced or lost by the
/// server, and no renewal was due in the meantime; with `config::instant_notice` mostly `lost`
/// comes instead.
struct found_lost {
    std::string_view name{};
    std::string_view holder{};  ///< as in `lost`
    std::string_view cause{};   ///< in words
};

/// The lock of a released hold went to the next waiter of this client, without a command.
/// `acquired` follows.
struct handed_over {
    std::string_view name{};
};

/// A connection to the server is up. The numbers of a server's links are `config::links` for
/// commands, then one for pub/sub; in a cluster the next server's numbers follow.
struct link_up {
    std::size_t link = 0;
    std::uint64_t epoch = 0;  ///< counts the connections of the link, from 1
};

/// A connection is down; the client reconnects, unless `why` is `error::closed`: nothing needs the
/// connection now.
struct link_down {
    std::size_t link = 0;
    boost::system::error_code why{};  ///< colock's, or that of Asio, the system or OpenSSL
};

/// The server refused a subscription. Its waiters ask again when the holder's lease ends and each
/// `config::poll_cap`.
struct subscription_failed {
    std::string_view channel{};
    boost::system::error_code why{};
    std::string_view cause{};  ///< in the server's words
};

}  // namespace events

/// One of the events. A later version may add some, so let what you visit with take any other, too.
using client_event = std::variant<
    events::acquired,
    events::waiting,
    events::no_permits_set,
    events::gave_up,
    events::cancelled,
    events::renewed,
    events::renew_failed,
    events::lost,
    events::released,
    events::found_lost,
    events::handed_over,
    events::link_up,
    events::link_down,
    events::subscription_failed>;

/// A client reports its events to its observer: the place to count, to measure and to trace.
///
///     struct loss_alarm final : colock::observer {
///         void on_event(colock::client_event const& what) noexcept override
///         {
///             if (auto const* lost = std::get_if<colock::events::lost>(&what))
///                 alarm(lost->name, lost->cause);
///         }
///     };
class observer {
public:
    virtual ~observer() = default;

    /// Called on the client's strand with each event.
    ///
    /// \par Preconditions
    ///   It is quick, does not block, throws nothing, and does not call the client back.
    virtual void on_event(client_event const&) noexcept = 0;
};

/// Makes a function object of several, to visit an event with:
///
///     std::visit(colock::overloaded{
///         [&](colock::events::lost const& e) { … },
///         [](auto const&) {}
///     }, what);
template <class... Functions>
struct overloaded : Functions... {
    using Functions::operator()...;
};

/// \cond
template <class... Functions>
overloaded(Functions...) -> overloaded<Functions...>;
/// \endcond

}  // namespace v0_3
}  // namespace colock
