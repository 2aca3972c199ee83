#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colock::decide {

/// How long a refused waiter sleeps before it asks again unasked: until just after the holder's
/// lease has ended, but at most the poll cap, which is shortened by up to a tenth by `dice` in
/// [0, 1), so that the waiters of many clients spread.
constexpr std::chrono::milliseconds sleep_after_refusal(
    std::int64_t pttl, std::chrono::milliseconds poll_cap, double dice
) noexcept
{
    using std::chrono::milliseconds;
    auto const cap = poll_cap -
        milliseconds{static_cast<std::int64_t>(static_cast<double>(poll_cap.count()) / 10 * dice)};
    if (pttl < 0)  // no TTL: only a release or a force can free it
        return cap;
    return std::min(cap, milliseconds{pttl + 1});
}

}  // namespace colock::decide
