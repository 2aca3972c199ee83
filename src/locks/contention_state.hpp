#pragma once

#include "decide/alarm_queue.hpp"
#include "decide/token_block.hpp"
#include "decide/turns.hpp"
#include "locks/poller.hpp"
#include <colock/config.hpp>

#include <cstdint>
#include <string>

namespace colock {

class exclusive_lock;

/// The state that a lock needs only under contention, in this client or between clients.
struct contention_state final : poller::entry {
    contention_state(exclusive_lock& of, config const&);

    void wake() override;
    void expiring(std::int64_t pttl) override;

    exclusive_lock& of;

    decide::token_block tokens;
    decide::turns turns;
    std::string channel;   ///< subscribed, if not empty
    bool is_live = false;  ///< messages arrive
    bool sleeping = false;
    bool disturbed = false;    ///< the lock may have been forced since the attempt was sent
    time_point cap{};          ///< the latest end of this sleep
    time_point heard = never;  ///< when to ask because of a message
    time_point remembered{};   ///< this is kept until then, though idle
    decide::alarm_queue::alarm alarm;
};

}  // namespace colock
