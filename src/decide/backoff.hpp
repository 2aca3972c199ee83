#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colock::decide {

/// Pauses between tries: none, then doubling from `first` to `longest`, each shortened by up to
/// half by `dice` in [0, 1), so that many do not come back at once.
class backoff {
public:
    using milliseconds = std::chrono::milliseconds;

    constexpr backoff(milliseconds first, milliseconds longest) noexcept
        : first_{first}
        , longest_{longest}
    {}

    milliseconds next(double dice) noexcept
    {
        if (tries_++ == 0)
            return milliseconds{0};
        auto const whole =
            std::min(longest_, milliseconds{first_.count() << std::min(tries_ - 2, 20U)});
        auto const cut = std::chrono::duration<double, std::milli>{whole} * (dice / 2);
        return whole - std::chrono::duration_cast<milliseconds>(cut);
    }

    void reset() noexcept { tries_ = 0; }

private:
    milliseconds first_;
    milliseconds longest_;
    unsigned tries_ = 0;
};

}  // namespace colock::decide
