#include <colock/printable.hpp>

#include <algorithm>
#include <utility>

namespace colock {

namespace {

// Among bytes that are not UTF-8: Latin-1's control characters.
bool is_control(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0x60U) == 0; }

/// These steer a terminal, end a line, change the direction of text, or have no width.
constexpr std::pair<unsigned, unsigned> not_shown[]{
    {0x00, 0x1F},
    {0x7F, 0xA0},
    {0xAD, 0xAD},
    {0x34F, 0x34F},
    {0x61C, 0x61C},
    {0x115F, 0x1160},
    {0x17B4, 0x17B5},
    {0x180B, 0x180F},
    {0x200B, 0x200F},
    {0x2028, 0x202E},
    {0x2060, 0x206F},
    {0x3164, 0x3164},
    {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},
    {0xE0000, 0xE0FFF}};

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

inline namespace v0_3 {

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
    auto const size = character.size();
    unsigned code = static_cast<unsigned char>(character.front());
    code &= size == 1 ? 0xFFU : 0xFFU >> (size + 1);
    for (char const byte : character.substr(1))
        code = code << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
    return std::ranges::none_of(not_shown, [code](auto const& range) {
        return code >= range.first && code <= range.second;
    });
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

}  // namespace v0_3

}  // namespace colock
