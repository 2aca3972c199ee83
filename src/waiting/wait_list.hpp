#pragma once

#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "decide/list_place.hpp"
#include "decide/names.hpp"
#include "decide/reply.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace colock {

class keyed_state;

/// The place of this client in the list of clients that wait for one lock, or for permits of one
/// semaphore, at the server. A release tells the first of them alone, or those that can get in,
/// each by a channel of its own. The channel of the lock tells everybody; a waiter listens there
/// while the holder may be a client that does not know the list, such as Redisson.
class wait_list final : private subscription_manager::listener {
public:
    class waiting_client {
    public:
        /// `listening`: how many clients listen to the lock's channel.
        virtual void on_turn(unsigned listening) = 0;

        /// The turn may come unheard, until a message may have been missed.
        virtual void on_unheard() = 0;

    protected:
        ~waiting_client() = default;
    };

    /// `channel` is that of the lock, none if its kind has no list. `ask` is set when a message may
    /// have been missed.
    wait_list(
        core&,
        keyed_state const& lock,
        std::string const* channel,
        event<bool>& ask,
        waiting_client& whose
    );

    /// The releases of this lock's holders may tell this client.
    bool may_be_used() const noexcept;

    /// The place to name in the next attempt. A single try does not wait, so it takes no place.
    std::string_view to_ask(bool once, time_point back_until) const noexcept;

    /// How many permits the client waits for. If these are others than before, it gives its place
    /// up: the entry in the list says how many.
    void stand_for(std::int64_t permits);

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

    /// The answer of that release; nothing if the client has left since.
    void joined(bool stands) noexcept;

    /// A release of this client has told another one. If this client stands behind that one, from
    /// before it adopted the lock, it waits for its turn, too.
    void told_another() noexcept
    {
        if (place.is_standing())
            by_release_ = joining::stands;
    }

    /// Our release has put us there, so there is nothing to ask for yet. True once.
    bool awaits_turn() noexcept;

    /// The lock is granted, so there is no place any more.
    void granted() noexcept;

    /// Nobody waits here any more. If this client's turn has come, or comes now, the next client is
    /// told.
    void leave();

    decide::list_place place;
    bool wakes = false;  ///< the holder, as far as is known, tells the first of the list

private:
    class owed_leave;

    void give_up_place();
    void call_off_leave();
    std::string entry() const { return decide::list_entry(core_.uuid(), permits_); }
    static strand_task send_leave(
        core&, std::string key, unsigned slot, std::string channel, std::string entry
    );

    void on_subscribed() override;
    void on_message(std::string_view payload) override;
    void on_interrupted() override;
    void on_not_subscribed() override;

    core& core_;
    keyed_state const& lock_;
    std::string const* channel_;
    event<bool>& ask_;
    waiting_client& whose_;
    std::string turn_channel_;  ///< subscribed, if not empty
    std::int64_t permits_ = 1;
    bool is_live_ = false;
    bool is_refused_ = false;  ///< by the server
    enum class joining { no, is_sent, stands } by_release_ = joining::no;
};

}  // namespace colock
