// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colock::simulation {

/// The number, if the text is what Redis itself writes for one: no sign plus, no leading zeros.
std::optional<std::int64_t> to_integer(std::string_view text) noexcept;

/// Refuses what is no integer.
std::int64_t integer(std::string_view text);

/// Refuses, too, the one integer that has no opposite.
std::int64_t signed_count(std::string_view text);

/// Refuses what is no floating-point number, or none of those that there are.
double floating(std::string_view text);

/// An end of a range of scores: the same, but for spaces in front, and of a number out of range
/// what is nearest to it.
double range_end(std::string_view text);

/// As Redis 7.2 and Valkey write it: a whole number below 2^62 with all its digits, others as short
/// as it goes. Redis 7.0 writes each with up to 17 digits.
std::string to_text(double);

/// As a machine of the x86 family makes an integer of it: what is out of range is the least one.
std::int64_t truncated(double) noexcept;

/// From start to stop, both included, negative from the end: the first and the one past the last.
std::pair<std::size_t, std::size_t> range(
    std::int64_t start, std::int64_t stop, std::size_t size
) noexcept;

}  // namespace colock::simulation
