// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <cstdint>

namespace colock::simulation {

/// True time since the world began: no clock in the world shows it.
using moment = std::chrono::nanoseconds;

inline constexpr moment never_again = moment::max();

/// Random numbers from a seed (splitmix64). Whoever draws has dice of its own, so that what one
/// leaves out does not change what the others draw.
class dice {
public:
    explicit constexpr dice(std::uint64_t seed) noexcept : state_{seed} {}

    /// Dice of somebody's own, for one purpose.
    constexpr dice apart(std::uint64_t purpose) const noexcept
    {
        dice d{state_ ^ (purpose + 1) * 0xd1342543de82ef95U};
        d.next();
        return d;
    }

    constexpr std::uint64_t next() noexcept
    {
        state_ += 0x9e3779b97f4a7c15U;
        auto z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /// From 0 to `limit` - 1.
    constexpr std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

    constexpr bool percent(unsigned p) noexcept { return below(100) < p; }
    constexpr bool per_million(std::uint64_t p) noexcept { return below(1'000'000) < p; }

    /// From `least` to `most`.
    constexpr moment between(moment least, moment most) noexcept
    {
        auto const width = static_cast<std::uint64_t>((most - least).count()) + 1;
        return least + moment{static_cast<moment::rep>(below(width))};
    }

private:
    std::uint64_t state_;
};

}  // namespace colock::simulation
