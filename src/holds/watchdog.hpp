#pragma once

#include "base/resume_notice.hpp"
#include "base/strand_task.hpp"
#include "base/timer.hpp"
#include "decide/renewal_schedule.hpp"
#include "redis/transport.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace colock {

class ownership;

using detail::core;
using detail::core_ptr;

/// Renews what is held, and reports losses.
///
/// One timer on the strand serves all of it, and one coroutine waits for it. Due renewals
/// queue in their lane and are sent in calls of up to 128, two of them under way at a time, so that
/// an acquire never waits behind many. Each ownership is asked for its part when the call is made,
/// and gets its answer. A missing answer changes nothing: the time of loss stays.
class watchdog {
public:
    explicit watchdog(core& owner);
    ~watchdog();

    /// Its times have changed.
    void watch(ownership&, time_point renew_at, time_point lose_at);
    void forget(ownership&) noexcept;

    /// The time of the first renewal. If there are many holds, first renewals spread
    /// over the whole period, so that holds that were acquired together are not renewed together
    /// for ever.
    time_point first_renewal(time_point sent, milliseconds lease);

    /// Renews it as soon as its link allows: after `send` at the latest.
    void enqueue(ownership&);
    void send(unsigned lane);
    void send_all();

    /// The machine may have been suspended: if so, tells what was lost meanwhile, and confirms the
    /// rest. The client calls it when the system says that the machine runs again.
    void on_resumed();

    /// Ends the loop; the next `watch` begins another.
    void stop();

private:
    struct lane_renewals;
    struct call;

    static asio::awaitable<void, strand_type> run(core_ptr, std::uint64_t loop);
    void process_due();
    void wake()
    {
        armed_ = schedule_.next();
        timer_.expires_at(armed_);  // the wait of `run` ends with an error, and it looks again
    }

    lane_renewals& in(unsigned lane);
    void send(unsigned lane, call some);
    strand_task renew(unsigned lane, call some);
    void split(unsigned lane, call& refused, answer const&, decide::connection_life const&);
    void conclude(call const&, answer const&, decide::connection_life const&);

    core& core_;
    decide::renewal_schedule schedule_;
    std::unordered_map<unsigned, std::unique_ptr<lane_renewals>> lanes_;  ///< by lane; no idle ones
    timer_type timer_;
    resume_notice resume_notice_;
    time_point resumed_;  ///< the last suspension that was looked at
    time_point armed_ = never;
    std::uint64_t loop_ = 0;  ///< of the loop: an older one ends
    bool running_ = false;
};

}  // namespace colock
