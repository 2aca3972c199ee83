// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/environment.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <random>
#include <string>

// All chance of a test comes from one number: that of its name, so the same test draws the same on
// every machine; or COLOCK_SEED, if that is set. A failure prints the number, and
// COLOCK_SEED=<number> repeats it. To look for new failures, set COLOCK_SEED to a new number: it
// switches the random walks, the worlds, the crowds, the chaos, the soak, and the identity and the
// delays of each client that a test makes over a fake transport or with `lab`.
namespace colock::test {

/// The number of a name, by FNV-1a: the same with each standard library.
inline std::uint32_t seed_of_name(std::string const& name)
{
    std::uint32_t hash = 2'166'136'261U;
    for (unsigned char const c : name)
        hash = (hash ^ c) * 16'777'619U;
    return hash % 1'000'000;
}

/// The seed of the test that runs.
inline std::uint32_t seed_of_test()
{
    namespace framework = boost::unit_test::framework;
    bool const is_any = framework::current_test_case_id() != boost::unit_test::INV_TEST_UNIT_ID;
    return given_seed(is_any ? seed_of_name(framework::current_test_case().full_name()) : 1);
}

/// Another one each time in the same test: the first is the test's own.
template <class Purpose>
std::uint32_t next_seed_of_test()
{
    static auto test = boost::unit_test::INV_TEST_UNIT_ID;
    static std::uint32_t before = 0;
    auto const now = boost::unit_test::framework::current_test_case_id();
    before = test == now ? before + 1 : 0;
    test = now;
    return seed_of_test() + 10'007 * before;
}

/// The random numbers of one test. A failure prints the seed; COLOCK_SEED=n repeats it.
class random_numbers {
public:
    random_numbers() : seed_{next_seed_of_test<random_numbers>()}, engine_{seed_}
    {
        BOOST_TEST_MESSAGE("seed " << seed_);
    }

    std::uint32_t seed() const noexcept { return seed_; }

    /// From 0 to `below` - 1.
    int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }
    bool one_in(int n) { return below(n) == 0; }

private:
    std::uint32_t seed_;
    std::mt19937 engine_;
};

}  // namespace colock::test
