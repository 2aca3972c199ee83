// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "environment.hpp"

#include <algorithm>
#include <string_view>
#include <unistd.h>

extern "C" char** environ;  // not every system's header has it

namespace cli {

std::vector<std::string> environment_with(
    std::vector<std::pair<std::string, std::string>> const& changed
)
{
    std::vector<std::string> made;
    for (char* const* each = environ; each && *each; ++each) {
        std::string_view const entry{*each};
        auto const name = entry.substr(0, entry.find('='));
        if (std::ranges::none_of(changed, [&](auto const& c) { return c.first == name; }))
            made.emplace_back(entry);
    }
    for (auto const& [name, value] : changed) {
        made.push_back(name);
        made.back() += '=';
        made.back() += value;
    }
    return made;
}

}  // namespace cli
