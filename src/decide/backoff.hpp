#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace colock::decide {

/// Pauses between tries: none, then doubling from `first` to `longest`, each shortened by up to
/// half by `jitter` in [0, 1), so that many do not come back at once.
class backoff {
public:
    constexpr backoff(milliseconds first, milliseconds longest) noexcept
        : first_{first}
        , longest_{longest}
    {}

    milliseconds next(double jitter) noexcept
    {
        if (tries_++ == 0)
            return milliseconds{0};
        auto const whole =
            std::min(longest_, milliseconds{first_.count() << std::min(tries_ - 2, 20U)});
        auto const cut = std::chrono::duration<double, std::milli>{whole} * (jitter / 2);
        return whole - std::chrono::duration_cast<milliseconds>(cut);
    }

    void reset() noexcept { tries_ = 0; }

private:
    milliseconds first_;
    milliseconds longest_;
    unsigned tries_ = 0;
};

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

/// The pause before what the server refuses for the moment is sent again, after so many refusals,
/// from 1: 20 ms, then doubling up to a fortieth of the lease, which is never under 100 ms nor over
/// 1 s; shortened by up to half by `jitter` in [0, 1).
inline milliseconds repeat_pause(std::uint32_t refusals, milliseconds lease, double jitter) noexcept
{
    auto const longest = std::clamp(lease / 40, milliseconds{100}, milliseconds{1'000});
    return backoff_pause(milliseconds{20}, longest, 2, refusals, jitter);
}

}  // namespace colock::decide
