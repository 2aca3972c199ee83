#pragma once

#include "decide/agenda.hpp"
#include "decide/token_block.hpp"
#include "decide/turns.hpp"
#include "service/contention.hpp"
#include "service/recheck.hpp"

#include <string>

namespace colock {

/// What a key needs only while more than one wants it: here, or at other clients.
struct contention::rivalry final : recheck::sleeper {
    rivalry(contention& of, config const&);

    decide::token_block tokens;
    decide::turns turns;
    std::string channel;   ///< subscribed, if not empty
    bool is_live = false;  ///< messages are heard
    bool sleeping = false;
    bool disturbed = false;    ///< somebody may have forced it since the attempt was sent
    time_point cap{};          ///< the longest that is slept now
    time_point heard = never;  ///< when to ask because of a message
    time_point remembered{};   ///< until then this is kept, though idle
    decide::agenda::entry alarm;
};

}  // namespace colock
