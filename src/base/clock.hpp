#pragma once

#include <chrono>

namespace colock {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// The one clock. Leases go on at the server while this machine is suspended, so it counts that
/// time, which the steady clock does not. Otherwise its time points are the steady clock's: only
/// those that callers give or get are converted, by `suspended`. A test sets it, and then time
/// moves only when the test says so.
struct clock {
    using base = std::chrono::steady_clock;
    using duration = base::duration;
    using rep = base::rep;
    using period = base::period;
    using time_point = base::time_point;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;

    /// How long the machine has been suspended since the process began: the steady clock is behind
    /// by so much. Looks at both clocks.
    static duration suspended() noexcept;

    /// When it was noticed that the machine runs again after a suspension; the least time point if
    /// it never was suspended. The system may not know to a second how long it slept, so nothing
    /// that was proven before is believed. Looks at both clocks.
    static time_point resumed() noexcept;

    /// Sets the time for the whole process; the default time point restores the real time.
    static void fake(time_point now) noexcept;
    static bool is_fake() noexcept;

    /// Under a fake time: the machine has been suspended for this time in all, at last until then.
    static void fake_suspension(duration, time_point resumed) noexcept;

    /// Under a fake time: a timer is due then. A test may move the time to the earliest of those
    /// that were expected since the time was last set; `expected` is `never` if none was.
    static void expect(time_point) noexcept;
    static time_point expected() noexcept;
};

/// Moves the time of the whole process forward. It goes on from there, and never back. For the test
/// doubles of users.
void skip_time(clock::duration) noexcept;

using time_point = clock::time_point;

inline constexpr time_point never = time_point::max();

}  // namespace colock
