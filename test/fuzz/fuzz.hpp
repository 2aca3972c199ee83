// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace colock::fuzz {

/// What must hold for each input. Ends the process, so that libFuzzer keeps the input.
inline void require(bool holds, char const* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace colock::fuzz
