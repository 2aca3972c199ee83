#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colock::testing {

/// One lock's part of a script call.
struct script_call {
    std::span<std::string_view const> keys, arguments;

    std::string key(std::size_t i = 0) const { return std::string{keys[i]}; }
    std::string argument(std::size_t i) const { return std::string{arguments[i]}; }
    std::int64_t number(std::size_t i) const noexcept
    {
        std::int64_t n = 0;
        auto const text = arguments[i];
        std::from_chars(text.data(), text.data() + text.size(), n);
        return n;
    }
};

}  // namespace colock::testing
