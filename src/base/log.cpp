#include "base/log.hpp"
#include <colock/printable.hpp>

namespace colock {

void write_log(logger const& to, log_level level, std::string_view line) noexcept
{
    if (!to.sink || level < to.level)
        return;
    try {
        if (is_printable(line))
            to.sink(level, line);
        else
            to.sink(level, printable(line));
    } catch (...) {
        // A sink that fails must not end a lock.
    }
}

}  // namespace colock
