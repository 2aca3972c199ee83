#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace colock::decide {

/// When a refused waiter asks again without a message: just after the holder's lease ends, if that
/// is before the poll cap; `pttl` is the rest of the lease, as the server said. None: at the cap.
constexpr std::optional<time_point> wake_time(
    time_point now, std::int64_t pttl, milliseconds poll_cap
) noexcept
{
    if (pttl == -2)  // free since
        return now;
    if (pttl < 0 || pttl >= poll_cap.count())  // no lease: only a release or a force can free it
        return std::nullopt;
    return now + milliseconds{pttl + 1};
}

/// How long the client sleeps after a refusal before it asks again without a message: until the
/// time at which something changes of which no message tells, if that is known, but at most the
/// poll cap, shortened by up to a tenth by `jitter` in [0, 1), so that many clients spread.
constexpr milliseconds poll_pause(
    std::optional<milliseconds> until, milliseconds poll_cap, double jitter
) noexcept
{
    auto const cut = static_cast<double>(poll_cap.count()) / 10 * jitter;
    auto const cap = poll_cap - milliseconds{static_cast<std::int64_t>(cut)};
    return until && *until < cap ? *until + milliseconds{1} : cap;
}

/// How long a wait list lives after somebody has joined it, or has looked and kept it alive.
inline constexpr std::chrono::minutes list_life{10};

/// A client looks for each key at least this often. A holder with the default lease renews while
/// more than 20 s of it are left, so its key does not count as one whose lease ends soon.
inline constexpr milliseconds longest_unkept{20'000};

/// A client that looks for a key at longer intervals than the poll cap names its entry there only
/// if it last did so this long ago: in every fourth call, which keeps the list alive.
inline constexpr milliseconds list_unnamed{65'000};

/// How often a client asks for `keys` keys for which a message is sure to come unless the
/// connection breaks, which the client notices: for 5,000 of them a second, but for each one at the
/// poll cap at the earliest, and in time to keep its wait list alive.
constexpr milliseconds sure_interval(std::size_t keys, milliseconds poll_cap) noexcept
{
    auto const spread = milliseconds{static_cast<std::int64_t>(keys / 5)};
    return std::max(poll_cap, std::min(spread, longest_unkept));
}

}  // namespace colock::decide
