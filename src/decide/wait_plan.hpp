#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
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

/// How often a client asks for `keys` keys for which a message is sure to come unless the
/// connection breaks, which the client notices: for 5,000 of them a second, but for each one at the
/// poll cap at the earliest, and after 20 s at the latest, while its wait list still lives.
constexpr std::chrono::milliseconds sure_interval(
    std::size_t keys, std::chrono::milliseconds poll_cap
) noexcept
{
    using std::chrono::milliseconds;
    constexpr milliseconds longest{20'000};
    auto const spread = milliseconds{static_cast<std::int64_t>(keys / 5)};
    return std::max(poll_cap, std::min(spread, longest));
}

}  // namespace colock::decide
