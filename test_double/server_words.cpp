// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "server_words.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace testing {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

/// The character that `\n` and similar escapes mean.
char meant_by(char letter)
{
    switch (letter) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return letter;
    }
}

/// Takes one character, with its backslash, from what is between double quotes.
char take(std::string_view& rest)
{
    if (rest.size() < 2 || rest.front() != '\\') {
        char const one = rest.front();
        rest.remove_prefix(1);
        return one;
    }
    if (rest.size() >= 4 && rest[1] == 'x') {
        unsigned char code = 0;
        auto const* const end = rest.data() + 4;
        if (std::from_chars(rest.data() + 2, end, code, 16).ptr == end) {
            rest.remove_prefix(4);
            return static_cast<char>(code);
        }
    }
    char const one = meant_by(rest[1]);
    rest.remove_prefix(2);
    return one;
}

/// Takes what is between quotes like the first character; nothing if they have no end, or if
/// something follows it at once.
std::optional<std::string> take_quoted(std::string_view& rest)
{
    char const quote = rest.front();
    std::string text;
    rest.remove_prefix(1);
    while (!rest.empty() && rest.front() != quote) {
        if (quote == '"') {
            text += take(rest);
            continue;
        }
        if (rest.starts_with("\\'"))
            rest.remove_prefix(1);
        text += rest.front();
        rest.remove_prefix(1);
    }
    if (rest.empty() || (rest.size() > 1 && blanks.find(rest[1]) == blanks.npos))
        return {};
    rest.remove_prefix(1);
    return text;
}

}  // namespace

std::string in_quotes(std::string_view word)
{
    constexpr char const* digits = "0123456789abcdef";
    std::string made = "\"";
    for (char const each : word) {
        auto const code = static_cast<unsigned char>(each);
        if (each == '"' || each == '\\')
            made += {'\\', each};
        else if (code < 0x20 || code == 0x7f)
            made += {'\\', 'x', digits[code / 16], digits[code % 16]};
        else
            made += each;
    }
    return made + '"';
}

std::vector<std::string> words_of(std::string_view rest)
{
    std::vector<std::string> words;
    for (;;) {
        rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
        if (rest.empty())
            return words;
        std::string word;
        // Quotes may begin in the middle of a word; where they end, it ends.
        while (!rest.empty() && blanks.find(rest.front()) == blanks.npos) {
            if (rest.front() == '"' || rest.front() == '\'') {
                auto const inside = take_quoted(rest);
                if (!inside)
                    return {};
                word += *inside;
            } else {
                word += rest.front();
                rest.remove_prefix(1);
            }
        }
        words.push_back(std::move(word));
    }
}

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
