#pragma once

#include "decide/renewal_schedule.hpp"
#include "decide/time.hpp"

#include <algorithm>
#include <cstdint>

namespace colock::decide {

/// The renewals of one ownership: when the next one is due, and which answer is still of interest.
class renewal {
public:
    /// One that was sent: its number, and the lease that it sets.
    struct round {
        std::uint16_t number;
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
        auto const shorter = is_unanswered() ? std::min(lease, milliseconds{shortest_}) : lease;
        shortest_ = static_cast<std::uint32_t>(std::min(shorter, longest_noted).count()) & all_bits;
        ++unanswered_;
        return {++last_, lease};
    }

    /// The lease that the server has for sure after a script that sets `set`. A renewal that is not
    /// answered may run after that script: sent again because the server did not know it,
    /// redirected, or overtaken over another link.
    milliseconds sure(milliseconds set) const noexcept
    {
        return is_unanswered() ? std::min(set, milliseconds{shortest_}) : set;
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
        if (failures_ != most_failures)
            ++failures_;
    }

private:
    static constexpr std::uint32_t all_bits = 0xffffff;
    static constexpr milliseconds longest_noted{
        all_bits};                                       ///< over four hours; that is long enough
    static constexpr std::uint32_t most_failures = 127;  ///< as good as more

    time_point due_at_ = never;
    // A million holds are as many of these.
    std::uint32_t shortest_ : 24 = 0;  ///< lease in ms of those that are not answered
    std::uint32_t failures_ : 7 = 0;   ///< in a row
    std::uint32_t wanted_ : 1 = false;
    std::uint16_t last_ = 0;
    std::uint16_t unanswered_ = 0;
};

}  // namespace colock::decide
