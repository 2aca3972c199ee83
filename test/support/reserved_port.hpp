// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
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

}  // namespace colock::test
