#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace colock::decide {

/// The number that the whole text is; nothing if it is no number, or one too large.
template <class Number>
std::optional<Number> number_of(std::string_view text) noexcept
{
    Number n{};
    auto const* const end = text.data() + text.size();
    auto const [at, ec] = std::from_chars(text.data(), end, n);
    return ec == std::errc{} && at == end ? std::optional{n} : std::nullopt;
}

}  // namespace colock::decide
