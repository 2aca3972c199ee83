#pragma once

#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/courtesy.hpp"
#include "decide/open_request.hpp"
#include "decide/token_block.hpp"
#include "holds/lock_traits.hpp"
#include "locks/poller.hpp"
#include "waiting/wait_place.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace colock {

/// The part of a lock that it needs only under contention, in this client or between clients: the
/// place in the wait list at the server, and the sleep of the head until it is worth asking.
class contention final : private poller::entry {
public:
    /// `wake` ends a sleep of the head, whose request is `asked`; both outlive this. `on_alarm`
    /// follows when a sleep is over, or when what is remembered may be forgotten.
    contention(
        core&,
        keyed_state const& lock,
        lock_traits const&,
        event<bool>& wake,
        decide::open_request const& asked,
        std::function<void()> on_alarm
    );

    // ---- Other clients -------------------------------------------------------------------------

    /// An attempt is about to be sent: what was heard before is out of date.
    void begin_attempt() noexcept
    {
        heard_ = never;
        place.begin_attempt();
    }

    /// This client has the lock.
    void granted() noexcept
    {
        heard_ = never;
        place.over();
    }

    /// Somebody else has the lock, see `wait_place::refused`.
    bool refused(decide::acquire_answer const&, mailbox::state const& asked_at);

    /// It is this client's turn.
    void on_turn(std::uint64_t listening);

    /// Letters arrive now, or don't any more.
    void on_mailbox();

    /// Of a head that sleeps messages may have been missed: looks at once whether there is
    /// something to do.
    void look_soon();

    /// This client has released the lock, and this many others have received the message. `told`:
    /// somebody of the wait list has the turn.
    void released(unsigned others, bool told);

    /// Others have their chance before that; when a message has come, they had it.
    time_point back_until() const noexcept { return std::min(back_until_, heard_); }

    // ---- The sleep of the head, until its deadline at the longest ------------------------------

    bool is_sleeping() const noexcept { return deadline_.has_value(); }

    /// Until `cap`; earlier because of a message, but not past the head's deadline.
    void sleep_until(time_point cap, time_point deadline);

    /// After a refusal: until something changes of which no message tells, in `pttl` ms, or to the
    /// poll cap. Of those in the list that is for the first alone.
    void sleep_out(std::int64_t pttl, time_point deadline);

    /// Sleeps with the other keys: one call of the poller serves many.
    void sleep_to_cap(time_point deadline);
    void get_up() noexcept;

    // ---- While nobody waits here ---------------------------------------------------------------

    void end();

    /// Keeps what is known of other clients for a while, for the next waiter: true if there is
    /// anything.
    bool remember();
    bool is_remembered() const noexcept { return clock::now() < remembered_; }
    void forget() noexcept { remembered_ = {}; }
    void set_alarm(time_point at) { core_.set_alarm(alarm_, at); }

    decide::token_block tokens;
    wait_place place;

private:
    void wake() override;
    void ask_in(std::int64_t ms) override;
    looked_for to_look_for() const override;
    bool is_sure_to_be_told() const noexcept override { return place.is_sure_to_be_told(); }
    void hear(time_point when);
    std::string channel() const;

    core& core_;
    lock_traits const& how_;
    event<bool>& wake_;
    decide::open_request const& request_;
    decide::courtesy courtesy_;
    time_point back_until_{};
    std::optional<time_point> deadline_{};  ///< of the head, while it sleeps
    time_point heard_ = never;              ///< when to ask because of a message
    time_point remembered_{};               ///< this is kept until then, though idle
    std::function<void()> on_alarm_;
    decide::alarm_queue::alarm alarm_{[this] { on_alarm_(); }};
};

}  // namespace colock
