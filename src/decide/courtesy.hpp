#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <chrono>

namespace colock::decide {

/// How a client lets those go first who have no place in the wait list, such as Redisson's: after a
/// release of this program they get the lock, and after a release of theirs this program does.
///
/// A client that has its turn, or comes back after its own release, waits a little before it asks
/// if somebody listens to the lock's channel. If that was in vain, because nobody else wants the
/// lock, the next such pause comes later.
class courtesy {
public:
    using duration = std::chrono::steady_clock::duration;

    /// So that one of Redisson's has heard the message, and asked. A turn is kept for 100 ms.
    static duration pause(duration round_trip) noexcept
    {
        return std::clamp<duration>(4 * round_trip, milliseconds{1}, milliseconds{50});
    }

    /// It is this client's turn, or it has released the lock, and nobody has the turn. `listening`
    /// others have heard of it: when to ask.
    time_point ask_at(time_point now, bool listening, duration round_trip) noexcept
    {
        if (!listening || now < next_)
            return now;
        auto const at = now + pause(round_trip);
        next_ = at + gap_;
        gap_ = std::min(2 * gap_, longest);
        return at;
    }

    /// A client has the lock that has no place in the list.
    void met_foreigner(time_point now) noexcept
    {
        gap_ = shortest;
        next_ = std::min(next_, now + shortest);
    }

private:
    static constexpr milliseconds shortest{2}, longest{1'000};

    time_point next_{};
    milliseconds gap_ = shortest;
};

}  // namespace colock::decide
