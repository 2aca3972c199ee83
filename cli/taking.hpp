// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "options.hpp"
#include "picture.hpp"
#include <colock/client.hpp>
#include <colock/hold.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <optional>
#include <string>

namespace cli {

/// The outcome of an acquire: a hold, an error, or neither when the wait is over.
struct taken {
    colock::error_code ec;
    std::optional<colock::hold> held;  ///< which may be lost by now
};

/// Acquires the lock of the command line, and its kind, within its wait.
boost::asio::awaitable<taken> take(
    colock::client&, options const&, boost::asio::cancellation_slot stop
);

/// Says, with `after` in the middle, that the lock could not be had. With --at-least it may be
/// taken although nobody holds it any more.
std::string said_of_conflict(options const&, std::string const& after = {});

/// Releases the lock for this one of its holders, and wakes who waits. False if it no longer had
/// the lock: then nothing is released. \throws failure
boost::asio::awaitable<bool> take_away(session&, picture const&, holder const&);

}  // namespace cli
