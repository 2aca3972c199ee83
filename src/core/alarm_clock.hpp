#pragma once

#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"

#include <memory>

namespace colock {

/// Runs the alarms of a client: one timer on the strand serves all of them.
class alarm_clock {
public:
    using alarm = decide::alarm_queue::alarm;

    explicit alarm_clock(strand_type const& strand) : timer_{strand} {}

    /// Alarms run only while this exists. Call it once, before the first alarm is set.
    void run_while(std::weak_ptr<void> life) noexcept { life_ = std::move(life); }

    void set(alarm&, time_point at);

    /// The queue, for those that set alarms by themselves and then call `arm`.
    decide::alarm_queue& alarms() noexcept { return alarms_; }
    void arm();

    /// Arms the timer again. If only cleared alarms were due, it waits no longer, and the context
    /// can come to its end.
    void rearm();

    /// The context is destroyed: no alarm runs any more.
    void shut_down() noexcept;

private:
    decide::alarm_queue alarms_;
    timer_type timer_;
    time_point armed_ = never;
    std::weak_ptr<void> life_;
    bool is_shut_down_ = false;
};

}  // namespace colock
