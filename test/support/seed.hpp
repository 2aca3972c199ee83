// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace colock::test {

/// The number in a variable of the environment, or the other: by these a long run does more than
/// one in passing.
inline int from_environment(char const* variable, int otherwise)
{
    auto const* given = std::getenv(variable);
    return given ? std::stoi(given) : otherwise;
}

/// The random numbers of one test. A failure prints the seed; COLOCK_SEED=n repeats it.
class random_numbers {
public:
    random_numbers() : seed_{chosen_seed()}, engine_{seed_}
    {
        BOOST_TEST_MESSAGE("seed " << seed_);
    }

    std::uint32_t seed() const noexcept { return seed_; }

    /// From 0 to `below` - 1.
    int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }
    bool one_in(int n) { return below(n) == 0; }

private:
    static std::uint32_t chosen_seed()
    {
        auto const* given = std::getenv("COLOCK_SEED");
        return given ? static_cast<std::uint32_t>(std::stoul(given)) : std::random_device{}();
    }

    std::uint32_t seed_;
    std::mt19937 engine_;
};

}  // namespace colock::test
