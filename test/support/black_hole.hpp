// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>

namespace colock::test {

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
