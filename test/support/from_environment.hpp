// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdlib>
#include <string>

namespace colock::test {

/// The number in a variable of the environment, or the other: by these a long run does more than
/// one in passing.
inline int from_environment(char const* variable, int otherwise)
{
    auto const* given = std::getenv(variable);
    return given ? std::stoi(given) : otherwise;
}

}  // namespace colock::test
