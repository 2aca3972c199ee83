// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tutorial {

/// The least of a Redis client: one command at a time, replies as text. The tutorial looks at the
/// server with it, as with redis-cli, and it plays the resource that a lock protects. No passwords.
class raw_redis {
public:
    using socket = boost::asio::generic::stream_protocol::socket;

    static boost::asio::awaitable<raw_redis> connect(std::string url)
    {
        auto const where = colock::config::from_url(url).addresses.at(0);
        auto const executor = co_await boost::asio::this_coro::executor;
        boost::asio::generic::stream_protocol::endpoint endpoint;
        if (where.unix_socket.empty()) {
            boost::asio::ip::tcp::resolver names{executor};
            auto const found = co_await names.async_resolve(
                where.host, std::to_string(where.port), boost::asio::deferred
            );
            endpoint = found.begin()->endpoint();
        } else {
            endpoint = boost::asio::local::stream_protocol::endpoint{where.unix_socket};
        }
        raw_redis server{std::make_unique<socket>(executor)};
        co_await server.socket_->async_connect(endpoint, boost::asio::deferred);
        co_return server;
    }

    /// Sends a command and gives its reply: numbers and texts as they are, nothing as "nil", a list
    /// with a blank between its members.
    template <class... Words>
    boost::asio::awaitable<std::string> command(Words const&... words)
    {
        std::string request = "*" + std::to_string(sizeof...(words)) + "\r\n";
        (append(request, words), ...);
        return exchange(std::move(request));
    }

    /// The next reply, as after MONITOR each line is one.
    boost::asio::awaitable<std::string> reply()
    {
        std::string const head = co_await line();
        char const kind = head.at(0);
        int const size = kind == '$' || kind == '*' ? std::stoi(head.substr(1)) : 0;
        if (size < 0)
            co_return "nil";
        if (kind == '$')
            co_return co_await bytes(static_cast<std::size_t>(size));
        if (kind != '*')
            co_return head.substr(1);
        std::string list;
        for (int i = 0; i < size; ++i) {
            std::string const member = co_await reply();
            list += (i ? " " : "") + member;
        }
        co_return list;
    }

private:
    explicit raw_redis(std::unique_ptr<socket> connection) : socket_{std::move(connection)} {}

    static void append(std::string& request, std::string_view word)
    {
        request += "$" + std::to_string(word.size()) + "\r\n";
        request += word;
        request += "\r\n";
    }

    boost::asio::awaitable<std::string> exchange(std::string request)
    {
        co_await boost::asio::async_write(
            *socket_, boost::asio::buffer(request), boost::asio::deferred
        );
        co_return co_await reply();
    }

    boost::asio::awaitable<std::string> line()
    {
        auto const size = co_await boost::asio::async_read_until(
            *socket_, boost::asio::dynamic_buffer(received_), "\r\n", boost::asio::deferred
        );
        std::string const text = received_.substr(0, size - 2);
        received_.erase(0, size);
        co_return text;
    }

    boost::asio::awaitable<std::string> bytes(std::size_t size)
    {
        if (received_.size() < size + 2)
            co_await boost::asio::async_read(
                *socket_,
                boost::asio::dynamic_buffer(received_),
                boost::asio::transfer_at_least(size + 2 - received_.size()),
                boost::asio::deferred
            );
        std::string const text = received_.substr(0, size);
        received_.erase(0, size + 2);
        co_return text;
    }

    std::unique_ptr<socket> socket_;
    std::string received_;
};

}  // namespace tutorial
