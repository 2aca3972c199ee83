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
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace examples {

/// The least of a Redis client: one connection without TLS, one command at a time. The tutorial
/// looks at the server with it, as with redis-cli, and lets it play the resource that a lock
/// protects; the flash sale keeps its data with it. After an error or a cancellation the connection
/// is of no more use. An application takes a complete client, such as Boost.Redis.
class raw_redis {
public:
    using socket = boost::asio::generic::stream_protocol::socket;

    static boost::asio::awaitable<raw_redis> connect(std::string const& url)
    {
        return connect(colock::config::from_url(url));
    }

    /// Connects to the first address, logs in and selects the database.
    static boost::asio::awaitable<raw_redis> connect(colock::config where)
    {
        auto const executor = co_await boost::asio::this_coro::executor;
        auto const to = co_await endpoint(where.addresses.at(0));
        raw_redis server{std::make_unique<socket>(executor)};
        co_await server.socket_->async_connect(to, boost::asio::deferred);
        if (!where.password.empty()) {
            auto const user = where.username.empty() ? "default" : where.username;
            co_await server.members("AUTH", user, where.password);
        }
        if (where.database != 0)
            co_await server.members("SELECT", std::to_string(where.database));
        co_return server;
    }

    /// Sends a command and gives its reply: numbers and texts as they are, nothing as "nil", a list
    /// with a blank between its members, a refusal in the server's words.
    template <class... Words>
    boost::asio::awaitable<std::string> command(Words const&... words)
    {
        return text_for(encode({std::string{words}...}));
    }

    /// Sends a command and gives its reply, the members of a list apart. Throws what the server
    /// refuses.
    template <class... Words>
    boost::asio::awaitable<std::vector<std::string>> members(Words const&... words)
    {
        return members(std::vector<std::string>{std::string{words}...});
    }

    boost::asio::awaitable<std::vector<std::string>> members(std::vector<std::string> const& words)
    {
        return members_for(encode(words));
    }

    /// The next reply, as after MONITOR each line is one.
    boost::asio::awaitable<std::string> reply() { co_return co_await text(co_await line()); }

    /// Whether the server has not hung up. Between two commands it sends nothing.
    bool is_up()
    {
        char byte = 0;
        boost::system::error_code ec;
        socket_->non_blocking(true);
        socket_->receive(boost::asio::buffer(&byte, 1), socket::message_peek, ec);
        return ec == boost::asio::error::would_block;
    }

private:
    explicit raw_redis(std::unique_ptr<socket> connection) : socket_{std::move(connection)} {}

    static boost::asio::awaitable<socket::endpoint_type> endpoint(colock::address at)
    {
        namespace asio = boost::asio;
        if (!at.unix_socket.empty())
            co_return asio::local::stream_protocol::endpoint{at.unix_socket};
        asio::ip::tcp::resolver names{co_await asio::this_coro::executor};
        auto const found =
            co_await names.async_resolve(at.host, std::to_string(at.port), asio::deferred);
        co_return found.begin()->endpoint();
    }

    static std::string encode(std::vector<std::string> const& words)
    {
        std::string request = "*" + std::to_string(words.size()) + "\r\n";
        for (auto const& word : words)
            request += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        return request;
    }

    boost::asio::awaitable<std::string> text_for(std::string request)
    {
        co_await send(std::move(request));
        co_return co_await reply();
    }

    boost::asio::awaitable<std::vector<std::string>> members_for(std::string request)
    {
        co_await send(std::move(request));
        std::string const head = co_await line();
        if (head.at(0) == '-')
            throw std::runtime_error{head.substr(1)};
        std::vector<std::string> found;
        if (head.at(0) == '*')
            found = co_await list(head);
        else
            found.push_back(co_await text(head));
        co_return found;
    }

    boost::asio::awaitable<void> send(std::string request)
    {
        co_await boost::asio::async_write(
            *socket_, boost::asio::buffer(request), boost::asio::deferred
        );
    }

    /// The value that begins with this line, as text.
    boost::asio::awaitable<std::string> text(std::string head)
    {
        if (head == "$-1" || head == "*-1")
            co_return "nil";
        if (head.at(0) == '$')
            co_return co_await bytes(std::stoul(head.substr(1)));
        if (head.at(0) != '*')
            co_return head.substr(1);
        std::string joined;
        auto const all = co_await list(head);
        for (auto const& member : all)
            joined += (&member != &all.front() ? " " : "") + member;
        co_return joined;
    }

    boost::asio::awaitable<std::vector<std::string>> list(std::string head)
    {
        int const size = std::stoi(head.substr(1));
        std::vector<std::string> all;
        all.reserve(size > 0 ? static_cast<std::size_t>(size) : 0);
        for (int i = 0; i < size; ++i)
            all.push_back(co_await reply());
        co_return all;
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

}  // namespace examples
