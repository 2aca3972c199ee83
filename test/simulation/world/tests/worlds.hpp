// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/run.hpp"
#include "support/from_environment.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace colock::simulation {

/// A new one each time, unless COLOCK_SEED says which.
inline std::uint64_t chosen_seed()
{
    auto const* given = std::getenv("COLOCK_SEED");
    auto const seed = given ? std::stoull(given) : std::uint64_t{std::random_device{}()};
    std::cout << "seed " << seed << std::endl;
    return seed;
}

/// A test that fails says how the same is seen again.
inline void check(scenario const& plan, recipe const& how, verdict const& v)
{
    if (!v.broken_rule.empty())
        BOOST_ERROR(
            v.broken_rule << "\n"
                          << v.story << "again: colock-simulate " << plan.name << " "
                          << how.describe()
        );
}

}  // namespace colock::simulation
