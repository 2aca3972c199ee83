#pragma once

#include <colock/log.hpp>

#include <string_view>

namespace colock {

/// Writes a line if the logger takes that level. Control characters, and all others that steer a
/// terminal, are escaped as `\x1b` is. Exceptions of the sink are dropped.
void write_log(logger const& to, log_level level, std::string_view line) noexcept;

}  // namespace colock
