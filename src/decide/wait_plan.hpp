#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace colock::decide {

/// When a refused waiter asks again without a message: just after the holder's lease ends, if that
/// is before the poll cap; `pttl` is the rest of the lease, as the server said. None: at the cap.
constexpr std::optional<std::chrono::steady_clock::time_point> wake_time(
    std::chrono::steady_clock::time_point now, std::int64_t pttl, std::chrono::milliseconds poll_cap
) noexcept
{
    using std::chrono::milliseconds;
    if (pttl == -2)  // free since
        return now;
    if (pttl < 0 || pttl >= poll_cap.count())  // no lease: only a release or a force can free it
        return std::nullopt;
    return now + milliseconds{pttl + 1};
}

}  // namespace colock::decide
