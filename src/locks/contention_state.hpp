#pragma once

#include "core/subscription_manager.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/list_place.hpp"
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
    std::string_view kept_list() const noexcept override
    {
        return place.may_stand() ? std::string_view{channel} : std::string_view{};
    }

    /// The channel that tells this client alone that its turn has come.
    struct turn_listener final : subscription_manager::listener {
        explicit turn_listener(contention_state& whose) : of{whose} {}

        void on_subscribed() override;
        void on_message(std::string_view payload) override;
        void on_interrupted() override;
        void on_not_subscribed() override;

        contention_state& of;
        std::string channel{};  ///< subscribed, if not empty
        bool is_live = false;
    };

    exclusive_lock& of;

    decide::token_block tokens;
    decide::turns turns;
    std::string const channel;  ///< the lock's
    bool listens = false;       ///< to that
    bool is_live = false;       ///< its messages arrive
    turn_listener turn{*this};
    decide::list_place place;   ///< in the wait list at the server
    bool wakes = false;         ///< the holder, as far as is known, tells the first of that list
    bool list_refused = false;  ///< the server refuses the list
    bool awaits_turn = false;   ///< our release has put us there
    bool sleeping = false;
    bool disturbed = false;    ///< the lock may have been forced since the attempt was sent
    time_point cap{};          ///< the latest end of this sleep
    time_point heard = never;  ///< when to ask because of a message
    time_point remembered{};   ///< this is kept until then, though idle
    decide::alarm_queue::alarm alarm;
};

}  // namespace colock
