#pragma once

#include "colock_scripts.hpp"

namespace colock {

/// Stands for any command: its words are the arguments of the step, which has its keys for the slot
/// alone. What the server says against it is a reply like others.
inline constexpr scripts::script any_command{"command", "", ""};

}  // namespace colock
