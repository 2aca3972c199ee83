// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/redis_server.hpp"

#include <string>
#include <string_view>

// Where things are. One unit alone is told when it is compiled, so that what the others are
// compiled to is the same in every folder, and a compiler cache has it.

namespace colock::test {

/// That of COLOCK_REDIS_SERVER or COLOCK_VALKEY_SERVER in the environment, else the one that was
/// there when this was built; empty if there was none.
std::string server_program(server_kind kind);
/// A file of the source tree.
std::string in_source_tree(std::string_view path);
/// A program or library that is built into the folder of the running one.
std::string beside_this_program(std::string_view name);

}  // namespace colock::test
