#include "redis/link_settings.hpp"
#include <colock/printable.hpp>

#include <cctype>
#include <cstddef>

namespace colock {

namespace {

bool is_in_word(std::string_view text, std::size_t at)
{
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

// A short secret is a part of many words. Marks in their middle would give it away.
void hide(std::string& text, std::string_view secret)
{
    constexpr std::string_view mark = "***";
    constexpr std::size_t longest_short = 4;
    for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at)) {
        bool const is_part = at != 0 && is_in_word(text, at - 1);
        if (secret.size() <= longest_short && (is_part || is_in_word(text, at + secret.size()))) {
            ++at;
            continue;
        }
        text.replace(at, secret.size(), mark);
        at += mark.size();
    }
}

}  // namespace

std::string redacted(std::string_view server_text, config const& c, std::string_view secret)
{
    // Servers quote the words of an unknown command, and those of HELLO contain a password.
    constexpr std::string_view quoted = "with args beginning with";
    constexpr std::size_t longest = 400;
    std::string text{server_text.substr(0, server_text.find(quoted))};
    while (text.ends_with(' ') || text.ends_with(','))
        text.pop_back();
    for (std::string_view const hidden :
         {std::string_view{c.password}, std::string_view{c.sentinel_password}, secret}) {
        if (!hidden.empty())
            hide(text, hidden);
    }
    if (text.size() > longest)
        text.replace(longest, text.npos, "...");
    return printable(text);
}

}  // namespace colock
