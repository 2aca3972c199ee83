#include "redis/link_settings.hpp"

namespace colock {

std::string redacted(std::string_view server_text, config const& c)
{
    // Servers quote the words of an unknown command, and those of HELLO contain a password.
    constexpr std::string_view quoted = "with args beginning with";
    constexpr std::size_t longest = 400;
    std::string text{server_text.substr(0, server_text.find(quoted))};
    while (text.ends_with(' ') || text.ends_with(','))
        text.pop_back();
    for (auto const* secret : {&c.password, &c.sentinel_password}) {
        if (secret->empty())
            continue;
        for (auto at = text.find(*secret); at != text.npos; at = text.find(*secret, at + 3))
            text.replace(at, secret->size(), "***");
    }
    if (text.size() > longest)
        text.replace(longest, text.npos, "...");
    return text;
}

}  // namespace colock
