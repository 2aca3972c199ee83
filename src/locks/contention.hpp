#pragma once

#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/token_block.hpp"
#include "decide/turns.hpp"
#include "holds/protocol.hpp"
#include "locks/poller.hpp"
#include "waiting/wait_list.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace colock {

/// The part of a lock that it needs only under contention, in this client or between clients: the
/// turns of the clients, the wait list at the server, the channel of the lock, and the sleep of the
/// head until it is worth asking.
class contention final : private poller::entry, private wait_list::waiting_client {
public:
    /// `wake` ends a sleep of the head. `on_alarm` follows when a sleep is over, or when what is
    /// remembered may be forgotten. `hears` gets the messages of the lock's channel.
    contention(
        core&,
        keyed_state const& lock,
        protocol const&,
        event<bool>& wake,
        subscription_manager::listener& hears,
        std::function<void()> on_alarm
    );

    // ---- The channel of the lock ---------------------------------------------------------------

    /// True if messages arrive only from now on, and one may have been missed.
    bool subscribe();

    /// After a refusal: subscribes to the client's own channel or to the lock's, as the refusal
    /// requires. True if a message may have been missed until now, so that the client has to ask
    /// once more.
    bool hears_anew(std::string_view asked, bool stands);

    /// Nobody else has the lock, so there is nothing to hear.
    void unsubscribe();

    /// The client asks for a place behind the others, instead of waiting until they had their
    /// chance.
    bool joins_behind(bool once);
    std::string_view place_to_ask(bool once) const noexcept
    {
        return list.to_ask(once, turns.back_until());
    }

    /// The channel whose listeners the script counts: none while this client hears nothing itself.
    std::string_view channel_to_count() const noexcept
    {
        return listens_ || list.is_heard() ? std::string_view{channel_} : std::string_view{};
    }

    /// Somebody has released the lock. `deadline` is that of the head.
    void on_message(time_point deadline);

    /// This client has released the lock, and this many others have received the message. `told`:
    /// so has the first of the wait list.
    void released(unsigned receivers, bool told);

    // ---- The sleep of the head, until its deadline at the longest ------------------------------

    bool is_sleeping() const noexcept { return deadline_.has_value(); }

    /// Until `cap`; earlier because of a message, but not past the head's deadline.
    void sleep_until(time_point cap, time_point deadline);

    /// Until the holder's lease ends, or to the poll cap.
    void sleep_out(std::int64_t pttl, time_point deadline);

    /// Another client was told, and has not asked yet. Its release will tell this one, which is the
    /// first of the list; but if that client has left, nobody will.
    void sleep_behind(time_point deadline);

    /// Sleeps with the other keys: one call of the poller serves many.
    void sleep_to_cap(time_point deadline);
    void get_up() noexcept;

    /// An attempt is about to be sent: what was heard before is out of date.
    void begin_attempt() noexcept;

    /// Somebody else has the lock. `named`: the attempt named a place in the wait list.
    void refused(decide::acquire_answer const&, bool named) noexcept;

    // ---- While nobody waits here ---------------------------------------------------------------

    void end();

    /// Keeps the knowledge of the turns for a while, for the next waiter: true if there is any.
    bool remember();
    bool is_remembered() const noexcept { return clock::now() < remembered_; }
    void forget() noexcept { remembered_ = {}; }
    void set_alarm(time_point at) { core_.set_alarm(alarm_, at); }

    decide::token_block tokens;
    decide::turns turns;
    wait_list list;
    bool is_live = false;  ///< messages of the lock's channel arrive

private:
    void wake() override;
    void expiring(std::int64_t pttl) override;
    void unchanged() override;
    std::string list_to_name() const override;
    bool is_sure_to_be_told() const noexcept override
    {
        return list.wakes && list.place.is_first();
    }
    void on_turn(unsigned listening) override;
    void on_unheard() override;

    core& core_;
    std::string const channel_;  ///< empty where nobody subscribes
    event<bool>& wake_;
    subscription_manager::listener& hears_;
    bool listens_ = false;                  ///< to that channel
    std::optional<time_point> deadline_{};  ///< of the head, while it sleeps
    time_point heard_ = never;              ///< when to ask because of a message
    time_point asked_{};                    ///< by the last attempt
    time_point remembered_{};               ///< this is kept until then, though idle
    std::function<void()> on_alarm_;
    decide::alarm_queue::alarm alarm_{[this] { on_alarm_(); }};
};

}  // namespace colock
