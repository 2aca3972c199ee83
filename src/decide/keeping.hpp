#pragma once

#include "decide/time.hpp"
#include "decide/validity.hpp"

#include <algorithm>

namespace colock::decide {

/// Whether a released lock stays with its client for a while (`config::keep`): the facts at the
/// moment of the last release, while nobody in this client waits.
struct keeping {
    time_point now;
    time_point since;         ///< the first grant of this tenure
    milliseconds keep;        ///< none if zero
    milliseconds max_tenure;  ///< of all holds of the tenure together
    time_point valid_until;   ///< of the hold that ends
    milliseconds lease;       ///< from which that was calculated
    bool is_alone = true;     ///< no other client is known to want it or to have had it
    bool would_hear = true;   ///< a client that begins to wait is heard, or can't be heard at all
    bool is_sure = true;      ///< nobody can have forced it unnoticed

    /// Until when it stays; `now` or earlier if it has to be released.
    time_point until() const noexcept
    {
        if (!is_alone || !would_hear || !is_sure)
            return now;
        return std::min({now + keep, since + max_tenure, fresh_until(valid_until, lease)});
    }
};

}  // namespace colock::decide
