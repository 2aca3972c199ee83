#include "core/alarm_clock.hpp"
#include <colock/error.hpp>

namespace colock {

void alarm_clock::set(alarm& a, time_point at)
{
    if (at == never)
        a.clear();
    else if (alarms_.set(a, at))
        arm();
}

// The timer is moved only to an earlier time; a cleared alarm costs at most one idle wake-up.
void alarm_clock::arm()
{
    if (alarms_.next() >= armed_)
        return;
    armed_ = alarms_.next();
    timer_.expires_at(armed_);
    timer_.async_wait([this, weak = life_](error_code ec) {
        auto const life = weak.lock();
        if (ec || !life || is_shut_down_)
            return;
        armed_ = never;
        alarms_.run(clock::now());
        arm();
    });
}

void alarm_clock::rearm()
{
    armed_ = never;
    timer_.cancel();
    arm();
}

void alarm_clock::shut_down() noexcept
{
    is_shut_down_ = true;
    alarms_.clear();
}

}  // namespace colock
