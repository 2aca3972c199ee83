#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

// How long a holder can rely on a lock. All times count from before the script was sent, by the
// steady clock of this process.
namespace colock::decide {

inline constexpr milliseconds shortest_renewed_lease{100};
/// Below this, the drift is most of a lease, and a round trip is the rest.
inline constexpr milliseconds shortest_lease{10};
inline constexpr milliseconds longest_lease = std::chrono::hours{24 * 3'653};

/// The allowed clock drift during a lease: 1 % of it, and 2 ms for the server's expiry resolution.
constexpr milliseconds drift(milliseconds lease) noexcept { return lease / 100 + milliseconds{2}; }

/// The time until which a lease that was sent at `sent` surely runs; not before `sent`.
constexpr time_point valid_until(time_point sent, milliseconds lease) noexcept
{
    return sent + std::max(milliseconds{0}, lease - drift(lease));
}

/// How long before the end of its validity a hold is lost: a tenth of the lease, from 10 ms to 1 s,
/// or as configured, and never more than a quarter of the lease, so that a short lease remains
/// useful.
constexpr milliseconds loss_margin(
    milliseconds lease, std::optional<milliseconds> configured
) noexcept
{
    auto const margin =
        configured.value_or(std::clamp(lease / 10, milliseconds{10}, milliseconds{1'000}));
    return std::min(margin, lease / 4);
}

/// A grant is given out only while at least half of its validity is left, and if the machine has
/// not been suspended since its script was sent.
constexpr bool is_fresh(
    time_point now, time_point sent, milliseconds lease, time_point resumed = time_point::min()
) noexcept
{
    return sent >= resumed && now - sent <= (valid_until(sent, lease) - sent) / 2;
}

/// Whether a hold that is valid until then may be passed on: its last proof is fresh.
constexpr bool is_fresh_until(
    time_point now, time_point until, milliseconds lease, time_point resumed
) noexcept
{
    return is_fresh(now, until - (lease - drift(lease)), lease, resumed);
}

}  // namespace colock::decide
