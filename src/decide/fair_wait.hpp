#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

// The times of those who wait for a fair lock.
namespace colock::decide {

/// Redisson's fairLockWaitTimeout in ms: all clients use it to calculate when a waiter of Redisson
/// counts as dead. Each grant and each waiter that leaves subtracts it from the timeouts behind, so
/// it has to be the same for all.
inline constexpr std::string_view redisson_fair_wait = "300000";

/// How long a ticket keeps its place without a heartbeat.
inline constexpr milliseconds ticket_life{5'000};

/// The period of its heartbeat.
inline constexpr milliseconds ticket_beat = ticket_life / 3;

/// When the first waiter of a client asks again unasked: just after the time that the server has
/// named has passed, if it has named one, and at most after the poll cap. `jitter` in [0, 1)
/// spreads what many clients would do at the same moment.
inline time_point look_again(
    time_point now, std::int64_t ask_in, milliseconds poll_cap, double jitter
) noexcept
{
    auto const spread = milliseconds{static_cast<std::int64_t>(10 * jitter)};
    if (ask_in < 0 || ask_in >= poll_cap.count())
        return now + poll_cap;
    return now + std::min(milliseconds{ask_in + 1} + spread, poll_cap);
}

}  // namespace colock::decide
