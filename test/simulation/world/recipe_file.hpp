// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/scenario.hpp"

#include <iosfwd>

namespace colock::simulation {

/// A world to be run again.
struct kept_recipe {
    scenario plan;
    recipe how;
};

/// Writes a world as indented lines below one that says "recipe". The scenario is written out, so
/// the world stays the same when the scenario of this name becomes another one.
void write(std::ostream&, kept_recipe const&);

/// Reads what `write` has written, whatever stands before and after it; throws std::exception for
/// anything else.
kept_recipe read_recipe(std::istream&);

}  // namespace colock::simulation
