#pragma once

#include <colock/log.hpp>

#include <string_view>

namespace colock {

/// Writes a line if the logger takes that level, control characters as `\x1b` and so all else that
/// steers a terminal. What the sink throws is dropped.
void write_log(logger const& to, log_level level, std::string_view line) noexcept;

}  // namespace colock
