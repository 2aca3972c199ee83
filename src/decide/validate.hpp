#pragma once

#include <colock/config.hpp>

namespace colock::decide {

/// Says what is wrong with a config, and how it should be; nullptr if it is correct.
char const* validate(config const&) noexcept;

}  // namespace colock::decide
