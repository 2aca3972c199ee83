#include "base/log.hpp"

#include <algorithm>
#include <string>

namespace colock {

namespace {

bool is_control(char c) noexcept
{
    auto const code = static_cast<unsigned char>(c);
    return code < 0x20 || code == 0x7f;
}

bool is_printable(std::string_view line) noexcept { return std::ranges::none_of(line, is_control); }

// Names of locks and texts of servers come from strangers: a line break of theirs would forge a
// line, and an escape sequence would reach a terminal.
std::string printable(std::string_view line)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (char const c : line) {
        if (!is_control(c)) {
            text += c;
            continue;
        }
        auto const code = static_cast<unsigned char>(c);
        text.append("\\x").append({digits[code >> 4U], digits[code & 15U]});
    }
    return text;
}

}  // namespace

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
