// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace colock::test {

/// A free port of 127.0.0.1, and the port 10,000 above it, which is that of a cluster's bus. As
/// long as this lives no other of these is the same, in no process: also while nobody listens
/// there, for a server that was killed comes back. The kernel gives neither to a connection that
/// goes out.
class reserved_port {
public:
    reserved_port();
    reserved_port(reserved_port&& other) noexcept
        : number_{other.number_}
        , claim_{std::exchange(other.claim_, -1)}
    {}
    reserved_port& operator=(reserved_port&&) = delete;
    ~reserved_port();

    operator std::uint16_t() const noexcept { return number_; }

private:
    std::uint16_t number_ = 0;
    int claim_ = -1;
};

/// An address that answers nothing, as that of a machine without power: attempts to connect get no
/// reply, not even a refusal. It is a listening socket whose queue is full.
class black_hole {
public:
    black_hole(std::string const& address, std::uint16_t port);
    black_hole(black_hole const&) = delete;
    black_hole& operator=(black_hole const&) = delete;
    ~black_hole();

private:
    int listening_ = -1;
    int filling_ = -1;
};

}  // namespace colock::test
