// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "checker/checker.hpp"

#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

namespace colock::test {

/// What processes have noted, as operations for the outside checker, which README.md describes.
/// \param history in the order of time
/// \param lease in nanoseconds
/// \param prefix of the names, before the number of the key
void write_operations(
    std::vector<event> const& history, std::int64_t lease, std::string_view prefix, std::ostream& to
);

}  // namespace colock::test
