// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace cli {

/// Adds all commands with their options, which go into `options`. That has to live as long.
void add_commands(CLI::App&, options&);

/// The error of a key, in the form that CLI11 wants: empty if the key is correct.
std::string complaint_about_key(std::string const&);

}  // namespace cli
