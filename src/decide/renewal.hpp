#pragma once

#include "decide/renewal_schedule.hpp"
#include "decide/time.hpp"

#include <cstdint>
#include <limits>

namespace colock::decide {

/// The renewals of one ownership: when the next one is due, and which answer is still of interest.
class renewal {
public:
    /// One that was sent: its number, and the lease that it sets.
    struct round {
        std::uint32_t number;
        milliseconds lease;
    };

    /// When the next one is due; never if that is not known before an answer.
    time_point due_at() const noexcept { return due_at_; }
    void plan(time_point at) noexcept { due_at_ = at; }

    /// It is to be sent whenever it can be, or was sent: an answer will plan the next one.
    bool is_wanted() const noexcept { return wanted_; }
    void want() noexcept { wanted_ = true; }

    /// Another event replaces it. Its answer does not matter any more.
    void forget() noexcept { wanted_ = false; }

    /// One is sent now.
    round begin(milliseconds lease) noexcept
    {
        wanted_ = true;
        due_at_ = never;
        ++unanswered_;
        return {++last_, lease};
    }

    /// The answer of any of them is still to come.
    bool is_unanswered() const noexcept { return unanswered_ != 0; }
    void count_answer() noexcept { --unanswered_; }

    /// The latest one is wanted, and this is it.
    bool is_current(round const& which) const noexcept { return wanted_ && which.number == last_; }

    void succeed() noexcept
    {
        failures_ = 0;
        wanted_ = false;
    }

    /// `lease` is the shortest of those that it had to renew.
    void fail(time_point now, milliseconds lease, bool is_busy, double jitter) noexcept
    {
        wanted_ = false;
        due_at_ = renewal_schedule::retry_time(now, lease, failures_, is_busy, jitter);
        if (failures_ != std::numeric_limits<std::uint8_t>::max())
            ++failures_;
    }

private:
    time_point due_at_ = never;
    std::uint32_t last_ = 0;
    std::uint16_t unanswered_ = 0;
    std::uint8_t failures_ = 0;  ///< in a row; many are as good as more
    bool wanted_ = false;
};

}  // namespace colock::decide
