// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Connections of browsers and other clients: one coroutine each.
#pragma once

#include "pages.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <chrono>
#include <cstdint>
#include <list>

namespace seckill {

using tcp = asio::ip::tcp;

struct time_limits {
    std::chrono::seconds request{3};  ///< for an answer
    std::chrono::seconds idle{30};    ///< for the next request of a connection
    std::chrono::seconds write{5};
};

class web {
public:
    /// Listens on 127.0.0.1; port 0 is one that is free.
    web(asio::any_io_executor, std::uint16_t port, pages&, time_limits = {});

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    /// Serves until `stop`. Throws if it cannot go on accepting connections.
    asio::awaitable<void> run();

    /// Takes no more connections, ends those that are idle, and waits for the answers that are
    /// under way; the limits bound that.
    asio::awaitable<void> stop();

private:
    struct session {
        tcp::socket socket;
        bool is_idle = true;
    };
    using place = std::list<session>::iterator;

    asio::awaitable<void> accept();
    asio::awaitable<void> serve(place);
    asio::awaitable<void> talk(session&);
    asio::awaitable<bool> read(session&, boost::beast::flat_buffer&, request&);
    asio::awaitable<response> answer_in_time(session&, request const&);
    asio::awaitable<response> answer(request const&);

    pages& pages_;
    time_limits limits_;
    tcp::acceptor acceptor_;
    std::list<session> sessions_;
    asio::steady_timer ended_;  ///< cancelled when a session or the accepting has ended
    bool accepting_ = false;
    bool stopping_ = false;
};

}  // namespace seckill
