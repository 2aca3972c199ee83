// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/redis_cli.hpp"

#include <cerrno>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace colock::test {

namespace {

[[noreturn]] void fail(char const* what)
{
    throw std::system_error{errno, std::generic_category(), std::string{"redis_cli: "} + what};
}

}  // namespace

redis_cli::redis_cli(std::string const& unix_socket)
    : socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)}
{
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    if (unix_socket.size() >= sizeof where.sun_path)
        throw std::length_error{"redis_cli: the socket's path is too long"};
    unix_socket.copy(where.sun_path, unix_socket.size());
    timeval const limit{5, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(socket_, reinterpret_cast<sockaddr const*>(&where), sizeof where) != 0) {
        int const why = errno;
        ::close(socket_);
        errno = why;
        fail("connect");
    }
}

redis_cli::~redis_cli() { ::close(socket_); }

reply redis_cli::command(std::vector<std::string> const& words)
{
    send(words);
    return read();
}

void redis_cli::send(std::vector<std::string> const& words)
{
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (auto const& word : words)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    for (std::string_view left = bytes; !left.empty();) {
        auto const sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0)
            fail("send");
        left.remove_prefix(static_cast<std::size_t>(sent));
    }
}

reply redis_cli::read()
{
    auto const line = read_line();
    auto const rest = line.substr(1);
    switch (line[0]) {
    case '+': return reply::of(std::string_view{rest});
    case '-': return reply::error(rest);
    case ':': return reply::of(std::int64_t{std::stoll(rest)});
    case '$': {
        auto const size = std::stoll(rest);
        return size < 0 ? reply{} : reply::of(read_bytes(static_cast<std::size_t>(size)));
    }
    case '*': {
        std::vector<reply> items;
        for (auto left = std::stoll(rest); left > 0; --left)
            items.push_back(read());
        return reply::of(std::move(items));
    }
    default: throw std::runtime_error{"redis_cli: not RESP2: " + line};
    }
}

bool redis_cli::is_closed() noexcept
{
    char next;
    auto const got = ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

std::string redis_cli::read_line()
{
    std::size_t end;
    while ((end = received_.find("\r\n")) == received_.npos)
        fill();
    auto line = received_.substr(0, end);
    received_.erase(0, end + 2);
    return line;
}

std::string redis_cli::read_bytes(std::size_t count)
{
    while (received_.size() < count + 2)
        fill();
    auto bytes = received_.substr(0, count);
    received_.erase(0, count + 2);
    return bytes;
}

void redis_cli::fill()
{
    char buffer[4'096];
    auto const got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0)
        fail("receive");
    if (got == 0)
        throw std::runtime_error{"redis_cli: the server closed the connection"};
    received_.append(buffer, static_cast<std::size_t>(got));
}

}  // namespace colock::test
