// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/black_hole.hpp"
#include "support/wait_until.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace colock::test {

black_hole::black_hole(std::string const& address, std::uint16_t port)
    : listening_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}
    , filling_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}
{
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    int const yes = 1;
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    auto const* to = reinterpret_cast<sockaddr const*>(&where);
    // The port is free as soon as the last connection of its former server has ended. A queue of
    // length 0 has room for one connection.
    try {
        if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1)
            throw std::runtime_error{"black_hole: no address: " + address};
        wait_until("the port of a black hole", std::chrono::seconds{5}, [&] {
            return ::bind(listening_, to, sizeof where) == 0;
        });
        if (::listen(listening_, 0) != 0 || ::connect(filling_, to, sizeof where) != 0)
            throw std::runtime_error{"black_hole: not at " + address};
    } catch (...) {
        ::close(filling_);
        ::close(listening_);
        throw;
    }
}

black_hole::~black_hole()
{
    ::close(filling_);
    ::close(listening_);
}

}  // namespace colock::test
