#pragma once

#include "base/timer.hpp"
#include "decide/renewal_schedule.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>

namespace colock {

using detail::core;
using detail::core_ptr;

class tenure;

/// Renews what is held, and tells when something can't be relied on any more.
///
/// One timer on the strand over all ownerships, and one coroutine that waits for it. When it
/// fires, each ownership that is due sends its renewal; those of one link go out as one call of up
/// to 128. An answer that does not come in time changes nothing: the time of loss stands.
class watchdog {
public:
    explicit watchdog(core& owner);

    /// The ownership's times have changed.
    void watch(tenure&, time_point renew_at, time_point lose_at);
    void forget(tenure&) noexcept;

    /// Ends the patrol; the next `watch` begins another.
    void stop();

private:
    static asio::awaitable<void, strand_type> patrol(core_ptr, std::uint64_t round);

    void round_up();
    void wake();

    core& core_;
    decide::renewal_schedule schedule_;
    timer_type timer_;
    time_point armed_ = never;
    std::uint64_t round_ = 0;  ///< of the patrol: an older one ends
    bool patrolling_ = false;
};

}  // namespace colock
