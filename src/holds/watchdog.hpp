#pragma once

#include "base/strand_task.hpp"
#include "base/timer.hpp"
#include "decide/renewal_schedule.hpp"
#include "holds/cohort.hpp"
#include "redis/transport.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
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
///
/// The ownerships that one call has renewed become a `cohort`. As long as its next calls succeed,
/// they touch none of its members.
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
    void enqueue(cohort&);
    void send(unsigned lane);
    void send_all();

    /// It leaves its cohort. If the cohort was queued for renewal, so is it, alone; if a renewal of
    /// the cohort is under way, it gets the answer.
    void take_out(ownership&, cohort&);

    /// It is destroyed.
    void strike_out(ownership const&, cohort&) noexcept;

    /// Ends the loop; the next `watch` begins another.
    void stop();

private:
    struct lane_renewals;
    struct call;

    static asio::awaitable<void, strand_type> run(core_ptr, std::uint64_t loop);
    void process_due();
    time_point next() const noexcept { return std::min(schedule_.next(), cohorts_.next()); }
    void on_scheduled(bool is_earliest);
    void wake()
    {
        armed_ = next();
        timer_.expires_at(armed_);  // the wait of `run` ends with an error, and it looks again
    }

    lane_renewals& in(unsigned lane);
    void send(unsigned lane, call some);
    strand_task renew(unsigned lane, call some);
    void split(unsigned lane, call& refused);
    void conclude(call&, answer const&);

    void dissolve(cohort&);
    void drop(cohort&) noexcept;
    void succeed(cohort&, time_point sent, double jitter);
    void gather(call const&, answer const&, double jitter);
    cohort& form(cohort::terms const&, time_point sent, double jitter);

    core& core_;
    decide::renewal_schedule schedule_;  ///< of ownerships that are in no cohort
    decide::renewal_schedule cohorts_;
    std::vector<std::unique_ptr<cohort>> all_cohorts_;  ///< kept as long as the client, for readers
    std::vector<cohort*> spare_cohorts_;
    std::unordered_map<unsigned, std::unique_ptr<lane_renewals>> lanes_;  ///< by lane; no idle ones
    timer_type timer_;
    time_point armed_ = never;
    std::uint64_t loop_ = 0;  ///< of the loop: an older one ends
    bool running_ = false;
};

}  // namespace colock
