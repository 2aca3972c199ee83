// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/commands/command.hpp"
#include "simulation/commands/numbers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace colock::simulation {

std::optional<std::int64_t> to_integer(std::string_view text) noexcept
{
    auto const digits = text.substr(text.starts_with('-') ? 1 : 0);
    if (digits.empty() || (digits[0] == '0' && text.size() != 1))
        return {};
    std::int64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [at, ec] = std::from_chars(text.data(), end, number);
    if (ec != std::errc{} || at != end)
        return {};
    return number;
}

std::int64_t integer(std::string_view text)
{
    if (auto const number = to_integer(text))
        return *number;
    throw refusal{"ERR value is not an integer or out of range"};
}

std::int64_t signed_count(std::string_view text)
{
    auto const count = integer(text);
    if (count == std::numeric_limits<std::int64_t>::min())
        throw refusal{
            "ERR value is out of range, value must between -9223372036854775807 and "
            "9223372036854775807"};
    return count;
}

namespace {

/// What strtod makes of a text that it takes as a whole.
std::optional<double> to_double(std::string_view text)
{
    std::string const whole{text};
    char* end = nullptr;
    errno = 0;
    double const number = std::strtod(whole.c_str(), &end);
    if (end != whole.c_str() + whole.size() || std::isnan(number))
        return {};
    return number;
}

}  // namespace

double floating(std::string_view text)
{
    bool const is_blank = text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0;
    auto const number = to_double(text);
    bool const is_out_of_range = errno == ERANGE && number && (std::isinf(*number) || *number == 0);
    if (is_blank || !number || is_out_of_range)
        throw refusal{"ERR value is not a valid float"};
    return *number;
}

double range_end(std::string_view text)
{
    if (auto const number = to_double(text))
        return *number;
    throw refusal{"ERR min or max is not a float"};
}

std::int64_t truncated(double number) noexcept
{
    constexpr double bound = 9'223'372'036'854'775'808.0;
    bool const fits = number >= -bound && number < bound;
    return fits ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::min();
}

std::string to_text(double number)
{
    constexpr double bound = 4'611'686'018'427'387'904.0;  // half of what fits, as there
    if (std::abs(number) < bound && number == std::trunc(number))
        return std::to_string(static_cast<std::int64_t>(number));
    if (std::isinf(number))
        return number > 0 ? "inf" : "-inf";
    std::array<char, 32> digits{};
    auto const written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return {digits.data(), written.ptr};
}

std::pair<std::size_t, std::size_t> range(
    std::int64_t start, std::int64_t stop, std::size_t size
) noexcept
{
    auto const count = static_cast<std::int64_t>(size);
    auto const from_front = [count](std::int64_t i) { return i < 0 ? i + count : i; };
    auto const first = std::max<std::int64_t>(from_front(start), 0);
    auto const last = std::min(from_front(stop), count - 1);
    if (first > last)
        return {0, 0};
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

}  // namespace colock::simulation
