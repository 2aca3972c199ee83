// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/child_process.hpp"
#include "support/patience.hpp"
#include "support/ports.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace colock::test {

namespace {

bool is_free(unsigned port)
{
    int const probe = testing::not_inherited(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    bool const ok = ::bind(probe, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    ::close(probe);
    return ok;
}

/// A socket of that number's abstract name, which the kernel gives once and takes back with the
/// process; or -1.
int claim(unsigned port)
{
    int const made = testing::not_inherited(::socket(AF_UNIX, SOCK_STREAM, 0));
    auto const name = "colock-test-port-" + std::to_string(port);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::ranges::copy(name, where.sun_path + 1);
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::bind(made, reinterpret_cast<sockaddr*>(&where), size) == 0)
        return made;
    ::close(made);
    return -1;
}

}  // namespace

reserved_port::reserved_port()
{
    static std::mt19937 chance{std::random_device{}()};
    // Those above 20,000 are the buses'; outgoing connections get theirs from 32768 on.
    std::uniform_int_distribution<unsigned> ports{10'000, 19'999};
    for (int tries = 0; tries != 1'000; ++tries) {
        auto const port = ports(chance);
        claim_ = claim(port);
        if (claim_ < 0)
            continue;
        if (is_free(port) && is_free(port + 10'000)) {
            number_ = static_cast<std::uint16_t>(port);
            return;
        }
        ::close(claim_);
    }
    throw std::runtime_error{"reserved_port: no free port"};
}

reserved_port::~reserved_port()
{
    if (claim_ >= 0)
        ::close(claim_);
}

black_hole::black_hole(std::string const& address, std::uint16_t port)
    : listening_{testing::not_inherited(::socket(AF_INET, SOCK_STREAM, 0))}
    , filling_{testing::not_inherited(::socket(AF_INET, SOCK_STREAM, 0))}
{
    ::fcntl(filling_, F_SETFL, O_NONBLOCK);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    int const yes = 1;
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    auto const* to = reinterpret_cast<sockaddr const*>(&where);
    // The port is free as soon as the last connection of its former server has ended. A queue of
    // length 0 has room for one connection. Somebody who connects to the former server over and
    // over may take it first, which fills the queue as well.
    try {
        if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1)
            throw std::runtime_error{"black_hole: no address: " + address};
        wait_until("the port of a black hole", std::chrono::seconds{5}, [&] {
            return ::bind(listening_, to, sizeof where) == 0;
        });
        bool const listens = ::listen(listening_, 0) == 0;
        if (!listens || (::connect(filling_, to, sizeof where) != 0 && errno != EINPROGRESS))
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
