#pragma once

#include <colock/config.hpp>

namespace colock::decide {

/// What is wrong with a config, and how it should be; nullptr if nothing is.
char const* validate(config const&) noexcept;

}  // namespace colock::decide
