#pragma once

#include "decide/alarm_queue.hpp"
#include "decide/token_block.hpp"
#include "decide/turns.hpp"
#include "service/exclusive_lock.hpp"
#include "service/poller.hpp"

#include <string>

namespace colock {

/// What a lock needs only while more than one task wants it: here, or at other clients.
struct exclusive_lock::contention_state final : poller::entry {
    contention_state(exclusive_lock& of, config const&);

    decide::token_block tokens;
    decide::turns turns;
    std::string channel;   ///< subscribed, if not empty
    bool is_live = false;  ///< messages are heard
    bool sleeping = false;
    bool disturbed = false;    ///< somebody may have forced it since the attempt was sent
    time_point cap{};          ///< the longest that is slept now
    time_point heard = never;  ///< when to ask because of a message
    time_point remembered{};   ///< until then this is kept, though idle
    decide::alarm_queue::alarm alarm;
};

}  // namespace colock
