#pragma once

#include "decide/time.hpp"
#include "decide/validity.hpp"

namespace colock::decide {

/// How a lock passes from a released hold to the next waiter of the same client.
enum class handover_kind {
    at_once,    ///< the ownership has a new holder, without a command
    by_script,  ///< the waiter asks with the same field: another lease, new tokens, or an ownership
                ///< that is suspect
    released    ///< at the server: all clients contend again
};

/// The facts at the moment of a release while this client has another waiter.
struct handover {
    time_point now;
    time_point since;                        ///< the first grant of this tenure
    milliseconds max_tenure;                 ///< none if zero
    time_point valid_until;                  ///< of the hold that ends
    milliseconds lease;                      ///< from which that was calculated
    time_point resumed = time_point::min();  ///< the end of the machine's last suspension
    bool is_alike = true;                    ///< both are renewed, with the same lease
    bool is_undisturbed = true;              ///< nobody is known to have forced it
    bool has_token = true;
    bool is_quiet = true;  ///< no step of the ownership is under way

    handover_kind decide() const noexcept
    {
        if (max_tenure <= milliseconds{0} || now - since >= max_tenure)
            return handover_kind::released;
        bool const is_fresh = is_fresh_until(now, valid_until, lease, resumed);
        if (is_alike && is_undisturbed && has_token && is_fresh)
            return handover_kind::at_once;
        // A step under way could set its older lease after the script.
        return is_quiet ? handover_kind::by_script : handover_kind::released;
    }
};

}  // namespace colock::decide
