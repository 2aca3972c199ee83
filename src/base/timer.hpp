#pragma once

#include "base/clock.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/strand.hpp>

namespace colock {

namespace asio = boost::asio;

using strand_type = asio::strand<asio::any_io_executor>;

/// Under a fake clock a due timer fires at the next poll, and one that is not due must not make
/// the reactor wait for real time: the clock is told of it instead.
struct clock_wait_traits {
    static clock::duration to_wait_duration(clock::duration const& d) noexcept
    {
        if (!clock::is_fake())
            return d;
        clock::expect(clock::now() + d);
        return std::min(d, clock::duration::zero());
    }
    static clock::duration to_wait_duration(clock::time_point const& t) noexcept
    {
        return to_wait_duration(t - clock::now());
    }
};

using timer_type = asio::basic_waitable_timer<clock, clock_wait_traits, strand_type>;

}  // namespace colock
