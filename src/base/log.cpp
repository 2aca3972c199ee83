#include "base/log.hpp"
#include "base/printable.hpp"

#include <string>

namespace colock {

namespace {

// Among bytes that are not UTF-8: Latin-1's control characters.
bool is_control(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0x60U) == 0; }

/// Calls the function for each character, with whether it may go to a terminal unchanged.
template <class Act>
void for_each_character(std::string_view line, Act const& act)
{
    while (!line.empty()) {
        auto const length = sequence_length(line);
        auto const character = line.substr(0, length == 0 ? 1 : length);
        act(character, length == 0 ? !is_control(character.front()) : is_shown(character));
        line.remove_prefix(character.size());
    }
}

bool is_printable(std::string_view line) noexcept
{
    bool all = true;
    for_each_character(line, [&](std::string_view, bool is_fine) { all &= is_fine; });
    return all;
}

// Names of locks and texts of servers come from outside: a line break in them could forge a log
// line, and an escape sequence could reach a terminal.
std::string printable(std::string_view line)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for_each_character(line, [&](std::string_view character, bool is_fine) {
        if (is_fine) {
            text += character;
            return;
        }
        for (unsigned char const code : character)
            text.append("\\x").append({digits[code >> 4U], digits[code & 15U]});
    });
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
