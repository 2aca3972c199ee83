#include "base/log.hpp"

namespace colock {

void write_log(logger const& to, log_level level, std::string_view line) noexcept
{
    if (!to.sink || level < to.level)
        return;
    try {
        to.sink(level, line);
    } catch (...) {
        // A sink that fails must not end a lock.
    }
}

}  // namespace colock
