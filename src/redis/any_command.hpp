#pragma once

#include "colock_scripts.hpp"

namespace colock {

/// Stands for any command. The arguments of the step are its words; the step's keys
/// only give the slot. A refusal by the server is a reply like any other.
inline constexpr scripts::script any_command{"command", "", ""};

}  // namespace colock
