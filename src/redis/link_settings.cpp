#include "base/printable.hpp"
#include "redis/link_settings.hpp"

namespace colock {

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
        if (hidden.empty())
            continue;
        for (auto at = text.find(hidden); at != text.npos; at = text.find(hidden, at + 3))
            text.replace(at, hidden.size(), "***");
    }
    if (text.size() > longest)
        text.replace(longest, text.npos, "...");
    return printable(text);
}

}  // namespace colock
