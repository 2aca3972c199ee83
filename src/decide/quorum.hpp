#pragma once

#include "decide/time.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace colock::decide {

/// A server's answer about a part of a red lock that the client has.
struct raise_answer {
    std::uint64_t reached = 0;           ///< the fencing counter, at least; 0: the part is gone
    std::chrono::microseconds behind{};  ///< if not 0: so far is its clock behind the token
    std::optional<std::chrono::seconds> up{};  ///< since its start; none: it does not tell
    time_point received{};

    bool is_there() const noexcept { return reached != 0 || behind.count() != 0; }
};

/// From when on a server votes: from so long after its last start on, when no lock that it may
/// have lost in a restart is valid any more. It tells whole seconds, and its clock may be slow.
inline time_point votes_from(raise_answer const& of, milliseconds after) noexcept
{
    if (after == milliseconds{0} || !of.up)
        return time_point::min();
    auto const left = after + drift(after) + std::chrono::seconds{1} - *of.up;
    return left <= milliseconds{0} ? time_point::min() : of.received + left;
}

/// The state of a part that a red lock has, besides its hold.
struct quorum_part {
    std::uint64_t drawn = 0;    ///< the part's own token
    std::uint64_t reached = 0;  ///< its counter, while the part was held: so far at least
    std::optional<time_point> votes_from{};  ///< none: not known yet

    /// The part helps to keep a lock with this token.
    bool counts(std::uint64_t token, time_point now) const noexcept
    {
        return reached >= token && votes_from && *votes_from <= now;
    }

    /// The part helps to give out a lock with this token, which is new to its server.
    bool agrees(std::uint64_t token, time_point now) const noexcept
    {
        return drawn <= token && counts(token, now);
    }
};

/// Until when a red lock waits for the answers to a question that all its servers are asked. Once
/// most have answered, a server that stands still is not waited for until the limit, but one that
/// is far away is.
class answer_limit {
public:
    using duration = std::chrono::steady_clock::duration;

    answer_limit() = default;
    answer_limit(time_point asked, time_point limit) noexcept : asked_{asked}, until_{limit} {}

    /// Most have answered by now, and the others usually take so long.
    time_point most_have_answered(time_point now, duration usually) noexcept
    {
        auto const more = std::max<duration>(times_of_the_most * (now - asked_), shortest);
        until_ = std::min(until_, std::max(now + more, asked_ + times_of_the_usual * usually));
        return until_;
    }

private:
    static constexpr int times_of_the_most = 2, times_of_the_usual = 3;
    static constexpr duration shortest = milliseconds{5};

    time_point asked_{}, until_{};
};

/// The token of a red lock that has these parts: that of the part with which they are enough, by
/// their tokens. It is above the tokens of all earlier owners, because each of them has raised the
/// counters of a majority to its own token while it had them, and so at least one of these parts
/// was drawn above that. Nothing if there are not enough.
inline std::optional<std::uint64_t> common_token(
    std::vector<std::uint64_t> drawn, std::size_t needed
)
{
    if (drawn.size() < needed)
        return {};
    auto const at = drawn.begin() + static_cast<std::ptrdiff_t>(needed - 1);
    std::ranges::nth_element(drawn, at);
    return *at;
}

}  // namespace colock::decide
