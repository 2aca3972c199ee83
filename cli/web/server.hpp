// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "web/answers.hpp"
#include "web/feed.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <string>

namespace cli::web {

using tcp = asio::ip::tcp;

/// What one connection may take of us, and all of them.
struct limits {
    std::size_t connections = 64;
    std::size_t header = 16 * 1024;
    std::chrono::milliseconds idle{10'000};   ///< for the next request
    std::chrono::milliseconds write{10'000};  ///< for a peer to take what it is sent
    std::chrono::milliseconds quiet{15'000};  ///< of the stream, until a sign of life
};

/// Serves the page: one coroutine a connection.
class server {
public:
    /// Listens from now on. Port 0 is one that is free. \throws failure
    server(asio::any_io_executor, tcp::endpoint const&, feed const&, limits = {});

    tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    /// Serves until `stop`.
    asio::awaitable<void> run();

    /// Closes all connections, and waits until their coroutines have ended.
    asio::awaitable<void> stop();

private:
    using connections = std::list<tcp::socket>;

    void admit(tcp::socket);
    asio::awaitable<void> serve(connections::iterator);
    asio::awaitable<void> talk(tcp::socket&);
    asio::awaitable<bool> read(tcp::socket&, boost::beast::flat_buffer&, request&);
    asio::awaitable<void> stream(tcp::socket&);
    asio::awaitable<void> send_all(tcp::socket&);
    asio::awaitable<bool> write(tcp::socket&, std::string text);

    feed const& feed_;
    limits limits_;
    tcp::acceptor acceptor_;
    connections connections_;
    asio::steady_timer ended_;  ///< cancelled when a connection or the accepting has ended
    bool accepts_ = false;
    bool stops_ = false;
};

/// Where the page is, for a browser.
std::string url_of(tcp::endpoint const&);

}  // namespace cli::web
