#include <colock/log.hpp>

#include <cstdio>
#include <string>

namespace colock {

logger stderr_logger(log_level level)
{
    auto sink = [](log_level at, std::string_view line) {
        constexpr char const* names[]{"debug", "info", "warning", "error", ""};
        std::string const text =
            std::string{"colock "} + names[static_cast<int>(at)] + ": " + std::string{line} + "\n";
        std::fwrite(text.data(), 1, text.size(), stderr);  // one call: lines don't mix
    };
    return {std::move(sink), level};
}

}  // namespace colock
