#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace colock::decide {

/// The pause after so many refusals, from 1: `first`, times `factor` for each, never longer than
/// `longest`; shortened by up to half by `jitter` in [0, 1).
inline milliseconds backoff_pause(
    milliseconds first, milliseconds longest, int factor, std::uint32_t refusals, double jitter
) noexcept
{
    auto whole = static_cast<double>(first.count());
    for (std::uint32_t i = 1;
         i < refusals && factor != 1 && whole < static_cast<double>(longest.count());
         ++i)
        whole *= factor;
    whole = std::min(whole, static_cast<double>(longest.count()));
    return milliseconds{std::llround(std::ceil(whole * (1 - jitter / 2)))};
}

inline constexpr milliseconds longest_repeat_pause{1'000};

/// The pause before what the server refuses for the moment is sent again, after so many refusals,
/// from 1: 20 ms, then doubling up to a fortieth of the lease, which is never under 100 ms nor over
/// the longest; shortened by up to half by `jitter` in [0, 1).
inline milliseconds repeat_pause(std::uint32_t refusals, milliseconds lease, double jitter) noexcept
{
    auto const longest = std::clamp(lease / 40, milliseconds{100}, longest_repeat_pause);
    return backoff_pause(milliseconds{20}, longest, 2, refusals, jitter);
}

}  // namespace colock::decide
