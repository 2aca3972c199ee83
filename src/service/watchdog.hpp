#pragma once

#include "base/timer.hpp"
#include "decide/renewal_schedule.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace colock {

using detail::core;
using detail::core_ptr;

class tenure;

/// Renews what is held, and tells when something can't be relied on any more.
///
/// One timer on the strand over all ownerships. When it fires, what is due goes together: a script
/// call for up to 128 of those that share a link, each in a coroutine of its own. An answer that
/// does not come in time changes nothing: the time of loss stands.
class watchdog {
public:
    static constexpr std::size_t largest_batch = 128;

    explicit watchdog(core& owner);

    /// The ownership's times have changed.
    void watch(tenure&, time_point renew_at, time_point lose_at);
    void forget(tenure&) noexcept;

    /// Ends the patrol; the next `watch` begins another.
    void stop();

private:
    static asio::awaitable<void, strand_type> patrol(core_ptr, std::uint64_t round);
    static asio::awaitable<void, strand_type> renew(
        core_ptr, std::vector<std::shared_ptr<tenure>> batch
    );

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
