#pragma once

#include "base/strand_task.hpp"
#include "core/subscription_manager.hpp"
#include "decide/list_place.hpp"
#include "decide/registration.hpp"
#include "decide/reply.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace colock {

class keyed_state;

/// The place of this client in the list of clients that wait for one lock, at the server. A release
/// tells the first of them alone, by a channel of its own. The channel of the lock tells everybody;
/// a waiter listens there while the holder is a client that does not know the list, such as
/// Redisson.
class wait_list final : private subscription_manager::listener {
public:
    /// `channel` is that of the lock, none if its kind has no list. `on_turn` hears how many
    /// clients listen to that channel; `ask` is set when a message may have been missed, or the
    /// lock was passed on. `in_use` says whether a number is asked for or held.
    wait_list(
        core&,
        keyed_state const& lock,
        std::string const* channel,
        event<bool>& ask,
        std::function<void(unsigned listening)> on_turn,
        std::function<bool(std::uint64_t number)> in_use
    );

    /// The releases of this lock's holders may tell this client.
    bool may_be_used() const noexcept;

    /// The place to name in the next attempt. A single try does not wait, so it takes no place.
    std::string_view to_ask(bool once, time_point back_until) const noexcept;

    /// Listens to the channel of this client.
    void hear();
    bool is_heard() const noexcept { return !turn_channel_.empty(); }

    /// After a refusal of an attempt that named this place.
    enum class next {
        sleep,       ///< the channel of this client will be live
        list_alone,  ///< its turn will be told, so the channel of the lock is not needed
        channel,     ///< it has to hear the channel of the lock
        ask          ///< a message may have been missed
    };
    next refused(std::string_view asked, bool stands);

    /// A release of this client is about to be sent: whether it takes a place by that. Not if it
    /// may have one already, from before it adopted the lock.
    bool joins() noexcept;
    void joined(bool stands) noexcept;

    /// A release of this client has told another one. If this client stands behind that one, from
    /// before it adopted the lock, it waits for its turn, too.
    void told_another() noexcept { awaits_turn_ = place.is_standing(); }

    /// Our release has put us there, so there is nothing to ask for yet. True once.
    bool awaits_turn() noexcept;

    // ---- Passing, see `config::passing` --------------------------------------------------------

    /// A new entry may be one that a release passes the lock on to.
    bool may_register() const noexcept;

    /// A step is about to be sent that puts this new number into the list. `floor` and `counter`
    /// as in `decide::passing_entry`.
    void begin_registration(std::uint64_t number, std::string_view floor, std::string_view counter);

    /// The number is over. If the lock may have been passed on to it, it is given back.
    void end_registration(bool may_stand);

    decide::registration registered;

    // --------------------------------------------------------------------------------------------

    /// Nobody waits here any more. If this client's turn has come, or comes now, the next client is
    /// told.
    void leave();

    decide::list_place place;
    bool wakes = false;  ///< the holder, as far as is known, tells the first of the list

private:
    static strand_task send_leave(
        core&, std::string key, unsigned slot, std::string channel, std::string entry
    );
    void send_leave(std::string entry) const;
    void on_passed(decide::passed_message const&);

    void on_subscribed() override;
    void on_message(std::string_view payload) override;
    void on_interrupted() override;
    void on_not_subscribed() override;

    core& core_;
    keyed_state const& lock_;
    std::string const* channel_;
    event<bool>& ask_;
    std::function<void(unsigned)> on_turn_;
    std::function<bool(std::uint64_t)> in_use_;
    std::string secret_;        ///< of the messages that pass the lock on: only the list has it
    std::string turn_channel_;  ///< subscribed, if not empty
    bool is_live_ = false;
    bool is_refused_ = false;  ///< by the server
    bool awaits_turn_ = false;
};

}  // namespace colock
