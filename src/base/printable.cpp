#include "base/printable.hpp"

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

}  // namespace

std::size_t sequence_length(std::string_view text) noexcept
{
    auto const at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned const first = at(0);
    std::size_t const length = first < 0x80 ? 1
        : first >= 0xC2 && first < 0xE0     ? 2
        : first >= 0xE0 && first < 0xF0     ? 3
        : first >= 0xF0 && first < 0xF5     ? 4
                                            : 0;
    if (length == 0 || text.size() < length)
        return 0;
    unsigned value = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i != length; ++i) {
        if ((at(i) & 0xC0U) != 0x80U)
            return 0;
        value = value << 6U | (at(i) & 0x3FU);
    }
    bool const is_overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    bool const is_no_character = (value >= 0xD800 && value < 0xE000) || value > 0x10FFFF;
    return is_overlong || is_no_character ? 0 : length;
}

bool is_shown(std::string_view character) noexcept
{
    auto const first = static_cast<unsigned char>(character.front());
    if (character.size() == 1)
        return first >= 0x20 && first != 0x7F;
    // Of two bytes, C2 80 to C2 9F steer terminals.
    if (first == 0xC2)
        return static_cast<unsigned char>(character[1]) >= 0xA1;
    // Some of three have no width, end a line or change the direction of text: U+200B to U+200F,
    // U+2028 to U+202E, U+2060 to U+206F.
    auto const last = static_cast<unsigned char>(character.back());
    if (character.starts_with("\xE2\x80"))
        return last < 0x8B || (last > 0x8F && last < 0xA8) || last > 0xAE;
    if (character.starts_with("\xE2\x81"))
        return last < 0xA0 || last > 0xAF;
    return true;
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

}  // namespace colock
