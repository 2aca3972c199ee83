#pragma once

#include "base/strand_task.hpp"
#include "base/timer.hpp"
#include "decide/renewal_schedule.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace colock {

using detail::core;
using detail::core_ptr;

class ownership;
class watchdog;

/// The place of an ownership among those of its lane whose renewal has still to be sent.
using renewal_hook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<watchdog>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Renews what is held, and tells when something can't be relied on any more.
///
/// One timer on the strand over all ownerships, and one coroutine that waits for it. What is due
/// queues in its lane and is sent in calls of up to 128, two of them under way at a time, so that
/// an acquire never stands behind many. An answer that does not come in time changes nothing: the
/// time of loss stands.
class watchdog {
public:
    explicit watchdog(core& owner);
    ~watchdog();

    /// The ownership's times have changed.
    void watch(ownership&, time_point renew_at, time_point lose_at);
    void forget(ownership&) noexcept;

    /// When a new ownership is renewed first. Where many are held the first renewals spread over
    /// the whole period: what was acquired in one go is not renewed in one go for ever.
    time_point first_renewal(time_point sent, milliseconds lease);

    /// Renews it as soon as its link allows: after `send` at the latest.
    void enqueue(ownership&);
    void send(unsigned lane);
    void send_all();

    /// Ends the loop; the next `watch` begins another.
    void stop();

private:
    struct line;
    struct batch;
    using ownerships = std::vector<std::shared_ptr<ownership>>;

    static asio::awaitable<void, strand_type> run(core_ptr, std::uint64_t round);
    strand_task renew(unsigned lane, ownerships some);
    void split(unsigned lane, ownerships const& refused, batch const& as);

    line& in(unsigned lane);
    void process_due();
    void wake();

    core& core_;
    decide::renewal_schedule schedule_;
    std::unordered_map<unsigned, std::unique_ptr<line>> lines_;  ///< by lane; none that is idle
    timer_type timer_;
    time_point armed_ = never;
    std::uint64_t round_ = 0;  ///< of the loop: an older one ends
    bool running_ = false;
};

}  // namespace colock
