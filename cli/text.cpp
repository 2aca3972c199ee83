// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace cli {

namespace {

/// The length of the well-formed UTF-8 sequence that the text begins with; 0 if there is none.
std::size_t sequence_length(std::string_view text)
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

bool is_printable(std::string_view character)
{
    auto const first = static_cast<unsigned char>(character.front());
    if (character.size() == 1)
        return first > 0x20 && first != 0x7F && first != '"' && first != '\\';
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

void append_escaped(std::string& to, std::string_view bytes)
{
    for (char const c : bytes) {
        if (c == ' ') {
            to += c;
            continue;
        }
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
            continue;
        }
        std::array<char, 5> code;
        std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(c));
        to += code.data();
    }
}

}  // namespace

std::optional<milliseconds> read_duration(std::string_view text)
{
    double number = 0;
    auto const end = text.data() + text.size();
    if (text.empty() || text.front() < '0' || text.front() > '9')
        return {};
    auto const [at, ec] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (ec != std::errc{})
        return {};
    std::string_view const unit{at, static_cast<std::size_t>(end - at)};
    double const factor = unit == "ms" ? 1
        : unit == "s" || unit.empty()  ? 1'000
        : unit == "m"                  ? 60'000
        : unit == "h"                  ? 3'600'000
                                       : 0;
    constexpr double ten_years = 10 * 365.25 * 24 * 3'600'000;
    if (factor == 0 || !(number * factor <= ten_years))
        return {};
    return milliseconds{static_cast<std::int64_t>(std::ceil(number * factor - 1e-6))};
}

std::string shown(milliseconds d)
{
    auto const count = d.count();
    if (count < 1'000)
        return std::to_string(count) + " ms";
    if (count < 600'000) {
        auto const tenths = count / 100;
        auto text = std::to_string(tenths / 10);
        if (tenths % 10)
            text += "." + std::to_string(tenths % 10);
        return text + " s";
    }
    return count < 36'000'000 ? std::to_string(count / 60'000) + " min"
                              : std::to_string(count / 3'600'000) + " h";
}

std::string shown(std::string_view text, std::size_t longest)
{
    std::string made;
    bool is_plain = !text.empty();
    auto rest = text.substr(0, longest);
    while (!rest.empty()) {
        auto const length = sequence_length(rest);
        auto const character = rest.substr(0, length == 0 ? 1 : length);
        rest.remove_prefix(character.size());
        if (length != 0 && is_printable(character)) {
            made += character;
            continue;
        }
        is_plain = false;
        append_escaped(made, character);
    }
    if (!is_plain)
        made = '"' + made + '"';
    if (text.size() > longest)
        made += "... (" + std::to_string(text.size()) + " bytes)";
    return made;
}

bool is_utf8(std::string_view text)
{
    while (!text.empty()) {
        auto const length = sequence_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string without_passwords(std::string text)
{
    for (auto at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
        auto const begin = at + 3;
        auto const last_at = [&](char const* ends) {
            auto const part = std::string_view{text}.substr(0, text.find_first_of(ends, begin));
            auto const found = part.rfind('@');
            return found == part.npos || found < begin ? part.npos : found;
        };
        auto end = last_at(" \t\r\n'\"");
        // A password may have blanks and quotes, too.
        if (end == text.npos)
            end = last_at("\r\n");
        if (end != text.npos)
            text.replace(begin, end - begin, "***");
    }
    return text;
}

std::string counted(std::int64_t number, std::string_view what, std::string_view ending)
{
    auto text = std::to_string(number) + " ";
    text += what;
    if (number != 1)
        text += ending;
    return text;
}

bool has_colours(int descriptor)
{
    auto const* const no_colour = std::getenv("NO_COLOR");
    auto const* const kind = std::getenv("TERM");
    return isatty(descriptor) != 0 && !(no_colour && *no_colour) && kind &&
        std::string_view{kind} != "dumb";
}

void complain(std::string const& line)
{
    auto const text = without_passwords(line) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace cli
