#pragma once

#include <chrono>

namespace colock {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// The one clock. Its time points are the steady clock's, so nothing is ever converted; a test
/// sets it, and then time moves only when the test says so.
struct clock {
    using base = std::chrono::steady_clock;
    using duration = base::duration;
    using rep = base::rep;
    using period = base::period;
    using time_point = base::time_point;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;

    /// Sets the time for the whole process; the default time point restores the real time.
    static void fake(time_point now) noexcept;
    static bool is_fake() noexcept;

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
