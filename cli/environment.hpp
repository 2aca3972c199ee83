// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cli {

/// This process's environment with other values for these names. A copy: another thread may read
/// the original at any time, so that is never changed.
std::vector<std::string> environment_with(
    std::vector<std::pair<std::string, std::string>> const& changed
);

}  // namespace cli
