// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "session.hpp"
#include "web/board.hpp"
#include "web/feed.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cli::web {

/// Reads the locks while somebody looks, and tells the feed. One loop finds locks by a scan, the
/// other one reads those that are known. Each rests at least nine times as long as it has worked,
/// so that a large server hardly notices it. It subscribes to nothing: a subscriber would count as
/// a waiter.
class reader {
public:
    reader(session&, options const&, feed&);

    /// Scans once, to see whether the server lets us. \throws failure
    asio::awaitable<void> check();

    /// Starts both loops, which have no end.
    void start();

private:
    asio::awaitable<void> find();
    asio::awaitable<void> follow();
    asio::awaitable<void> scan();
    asio::awaitable<void> read_known();
    asio::awaitable<void> read_some(std::vector<std::string> const& keys, std::size_t& next);
    void begin_anew();
    void take(reading);
    void show();

    session& session_;
    options const& options_;
    feed& feed_;
    board board_;
    std::set<std::string> found_;  ///< by scans, and not read yet
    std::int64_t left_out_ = 0;    ///< of the last scan
    bool has_scanned_ = false;
    std::string refusal_;  ///< why the last scan didn't find all
    std::string trouble_;  ///< why nothing could be read the last time
    asio::steady_timer until_scan_;
    asio::steady_timer until_reading_;
};

}  // namespace cli::web
