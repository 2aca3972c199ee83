#pragma once

#include "decide/renewal_schedule.hpp"
#include "decide/time.hpp"

#include <cstdint>

namespace colock::decide {

/// The renewals of one ownership: when the next one is due, and which answer is still of interest.
class renewal {
public:
    /// When the next one is due; never if that is not known before an answer.
    time_point due_at() const noexcept { return due_at_; }
    void plan(time_point at) noexcept { due_at_ = at; }

    /// It is to be sent whenever it can be, or was sent: an answer will plan the next one.
    bool is_wanted() const noexcept { return wanted_; }
    void want() noexcept { wanted_ = true; }

    /// The last one has failed.
    bool has_failed() const noexcept { return failures_ != 0; }

    /// Another event replaces it. Its answer does not matter any more.
    void forget() noexcept { wanted_ = false; }

    /// One is sent now: the step of this number.
    void begin(std::uint32_t number) noexcept
    {
        wanted_ = true;
        due_at_ = never;
        last_ = number;
    }

    /// The latest one is wanted, and this is it.
    bool is_current(std::uint32_t number) const noexcept { return wanted_ && number == last_; }

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
        if (failures_ != most_failures)
            ++failures_;
    }

private:
    static constexpr std::uint16_t most_failures = 127;  ///< as good as more

    time_point due_at_ = never;
    std::uint32_t last_ = 0;
    std::uint16_t failures_ = 0;  ///< in a row
    bool wanted_ = false;
};

}  // namespace colock::decide
