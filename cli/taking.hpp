// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "options.hpp"
#include <colock/client.hpp>
#include <colock/hold.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <optional>
#include <string>
#include <tuple>

namespace cli {

/// What became of an acquire: a hold, an error, or neither when the wait is over.
struct taken {
    colock::error_code ec;
    std::optional<colock::hold> held;  ///< which may be lost by now
};

/// Acquires the lock of the command line, and its kind, within its wait.
boost::asio::awaitable<taken> take(
    colock::client&, options const&, boost::asio::cancellation_slot stop
);

/// Takes the lock away from whoever has it. True if somebody had.
boost::asio::awaitable<std::tuple<colock::error_code, bool>> take_away(
    colock::client&, std::string key, lock_kind
);

}  // namespace cli
