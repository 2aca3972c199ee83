// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/scenario.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>

namespace colock::simulation {

/// What came of one world.
struct verdict {
    std::string rule;         ///< which kind was broken
    std::string broken_rule;  ///< and how; empty: none
    std::string object;       ///< of which
    std::string story;        ///< the last that happened to it
    std::uint64_t sum = 0;    ///< of its whole history
    std::uint64_t events = 0;
    std::uint64_t sections = 0;
    std::uint64_t grants = 0;
    std::uint64_t excused = 0;  ///< overlaps after a server had lost data
    std::uint64_t handlers = 0;
    moment length{};
};

/// Makes the world and runs it to its end. `told` events of the history are kept as text; all that
/// users do goes to `operations`, for the outside checker.
verdict run(
    scenario const&, recipe const&, std::size_t told = 60, std::ostream* operations = nullptr
);

/// The smallest recipe found that still breaks a rule, in at most so many runs: without machines,
/// tasks and faults that it does not take, and as short as it can be. Progress goes to `log`.
recipe shrink(scenario const&, recipe, unsigned runs, std::ostream& log);

}  // namespace colock::simulation
