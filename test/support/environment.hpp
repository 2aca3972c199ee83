// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

// Without Boost.Test, because the soak is no test of its own.
namespace colock::test {

/// The number in a variable of the environment, or the other: by these a long run does more than
/// one in passing.
inline int from_environment(char const* variable, int otherwise)
{
    auto const* given = std::getenv(variable);
    return given ? std::stoi(given) : otherwise;
}

/// COLOCK_SEED, or the other.
inline std::uint32_t given_seed(std::uint32_t otherwise)
{
    auto const* given = std::getenv("COLOCK_SEED");
    return given ? static_cast<std::uint32_t>(std::stoul(given)) : otherwise;
}

}  // namespace colock::test
