// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <decide/reply.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace cli {

/// The answers of a server beside the primary: a replica or a Sentinel.
struct neighbour_answers {
    std::vector<colock::decide::reply> replies{};  ///< none: it does not answer
    std::chrono::system_clock::time_point asked{}, answered{};
};

/// Asks the one server of these settings, over a connection of its own, which no lock uses. A
/// refusal is an error among the replies.
boost::asio::awaitable<neighbour_answers> ask_neighbour(
    boost::asio::io_context&,
    colock::config,
    std::vector<std::vector<std::string>> questions,
    std::chrono::milliseconds limit
);

}  // namespace cli
