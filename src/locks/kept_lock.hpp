#pragma once

#include "core/subscription_manager.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/handover.hpp"
#include "decide/lease.hpp"
#include "holds/ownership.hpp"
#include "waiting/waiter.hpp"

#include <functional>
#include <string>

namespace colock {

class contention;

/// How a lock stays with its client after a release (`config::keep`): the channel by which the
/// server says that others wait, the terms of the last hold, and the time that is left.
class kept_lock final : private subscription_manager::listener {
public:
    /// `channel` is that of the lock, empty where nobody subscribes: then nobody can say that
    /// others wait. `on_end`: if the lock is kept now, it has to be released.
    kept_lock(core&, std::string const& channel, std::function<void()> on_end);

    /// An attempt to take the lock is about to be made.
    void begin_attempt(contention* others);

    /// The lock has come without an attempt.
    void begin_unheard() noexcept { is_heard_ = false; }

    /// It may be kept after one of the next releases.
    bool is_expected() const noexcept { return is_expected_; }

    /// Nobody in this client waits for the lock, and its last hold ends: true if it is kept.
    /// `since`: the first grant of its tenure.
    bool keep(ownership&, hold_state& last, contention const* others, time_point since);

    /// How the next waiter gets it.
    decide::handover_kind how_to_take(
        waiter const& next,
        ownership const&,
        contention const* others,
        time_point since,
        bool has_token
    ) const noexcept;

    // The terms of the hold that has ended.
    decide::hold_terms const& last() const noexcept { return last_; }
    time_point valid_until() const noexcept { return valid_until_; }

    /// Listens no more.
    void end();

private:
    void set_alarm();
    void on_alarm();
    void on_subscribed() override { is_live_ = true; }
    void on_message(std::string_view payload) override;
    void on_interrupted() override;

    core& core_;
    std::string const channel_;  ///< by which others are heard
    std::function<void()> on_end_;
    bool is_expected_ = false;  ///< and so `channel_` is subscribed
    bool is_live_ = false;
    bool is_heard_ = false;   ///< it was live before the attempt was sent, and is since
    bool is_wanted_ = false;  ///< since the attempt was sent
    decide::hold_terms last_{};
    time_point valid_until_{};
    time_point until_{};  ///< it is kept
    time_point rings_{};  ///< the alarm
    decide::alarm_queue::alarm alarm_{[this] { on_alarm(); }};
};

}  // namespace colock
