#pragma once

#include "core/core.hpp"
#include "core/script_call.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/reply.hpp"
#include "redis/transport.hpp"
#include "waiting/contender.hpp"
#include "waiting/wait_place.hpp"
#include "waiting/wait_queue.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

/// The calls of this client that wait for one semaphore or latch. The client asks the server only
/// for the first of them, with one request at a time.
///
/// A call may leave at any time. The request to the server goes on: its permits go to the next call
/// that wants as many, or are given back.
class permit_queue final : public wait_queue, public contender {
public:
    /// How to get a permit: the difference between semaphores and latches. A latch gives permits to
    /// all at once, when its count is zero.
    class policy {
    public:
        using channel_of = std::string (*)(std::string_view name, std::string_view prefix);

        policy(core& inside, std::string name, channel_of which)
            : core_{inside}
            , name_{std::move(name)}
            , channel_of_{which}
        {}
        policy(policy const&) = delete;
        policy& operator=(policy const&) = delete;
        virtual ~policy() = default;

        /// The channel for messages about a change.
        std::string channel() const { return channel_of_(name_, core_.settings().key_prefix); }

        /// Begins a new request, for the first in the queue. The functions below are about it,
        /// until the next one.
        virtual void begin(waiter const& first) = 0;

        /// The place of a request in the wait list, as scripts take it.
        struct listed {
            std::string since;  ///< as of acquire.lua
            std::string entry;  ///< "" before it may have stood there
        };

        /// The script of the request, for the first time and for repeats.
        virtual script_call::request ask(listed const&) const = 0;

        /// The number of the request, and how many permits it wants.
        virtual std::uint64_t number() const noexcept { return 0; }
        virtual std::int64_t wanted() const noexcept { return 0; }

        /// How many permits there are by the caller of the request; zero if that has not said.
        std::int64_t total() const noexcept { return total_; }
        void set_total(std::int64_t total) noexcept { total_ = total; }
        virtual decide::acquire_answer read(decide::reply const&) const = 0;

        /// The time until which the request may be repeated or undone, if it was sent then, and the
        /// server may have run it just now. After that nothing of it is left, or the server can't
        /// tell any more whether it took permits: see `may_be_out_for_good`.
        virtual time_point open_until(decide::open_request const&, time_point sent) const = 0;

        /// Whether permits that were taken, and are never given back, stay out.
        virtual bool may_be_out_for_good() const noexcept { return false; }

        /// Whether the script takes nothing, so that its answer serves all calls that waited when
        /// it was sent, and none of them stands in a wait list at the server.
        virtual bool asks_for_all() const noexcept { return false; }

        /// Whether the open request takes, or has taken, what the first in the queue wants.
        virtual bool fits(waiter const& first, decide::open_request const&) const = 0;

        /// Grants the permits of the request of `sent`: takes at least the first waiter from the
        /// queue.
        virtual void hand_out(permit_queue&, time_point sent) = 0;

        /// The script that undoes the open request, and gives up its place. Not for requests that
        /// take nothing.
        virtual script_call::request undo(std::string const& entry) = 0;

    protected:
        std::string list() const { return decide::wait_list(name_, core_.settings().key_prefix); }
        std::string box() const { return core_.mailbox_argument(decide::slot_of(name_)); }

        core& core_;
        std::string const name_;
        std::int64_t total_ = 0;

    private:
        channel_of channel_of_;
    };

    permit_queue(core& inside, state_kind, std::string name, std::unique_ptr<policy> how);
    ~permit_queue() override;

    void admit(std::shared_ptr<waiter> const&) override;

    // ---- For the policy ----------------------------------------------------------------------

    using wait_queue::first;
    using wait_queue::is_empty;
    using wait_queue::take_first;

    /// How many replicas have acknowledged what the request has taken.
    unsigned replicas() const noexcept { return replicas_; }

    // ---- For `contend`. It asks for the first call, hands out what that has got, or gives back
    // what nobody wants. It waits for a message or its turn, to the poll cap, or until a permit's
    // lease ends.

    struct attempt;
    bool is_wanted();
    bool judge(attempt const&, answer&);
    void get_up() noexcept { sleep_.clear(); }
    void end();

    // ---- For the core --------------------------------------------------------------------------

    void on_reached() override;
    bool awaits_message() const noexcept override { return is_asleep() && place_.can_be_told(); }
    void on_turn(std::uint64_t number, std::uint64_t) override
    {
        if (policy_->number() == number)
            wake();
    }
    void on_mailbox() override
    {
        if (is_asleep() && place_.take_mailbox_change() && core_.mailbox().of(slot()).is_settled())
            wake();
    }
    void end_waiters(failure) override;

private:
    using action = decide::open_request::action;

    // Each returns true if it has to sleep.
    bool conclude_request(attempt const&, answer const&);
    bool conclude_undo(attempt const&, answer const&);
    void ask_copies(step&, action) const;
    bool on_refused(attempt const&, decide::acquire_answer const&);
    std::string entry() const;
    void sleep_until(time_point);

    action next_action();
    action decide_next();
    script_call::request script_for(action next);
    bool is_expired() const { return request_.is_open() && !request_.stands(clock::now()); }
    void note_unreturned(failure why);

    /// The client asks for the first call alone: if another one has said how many permits there
    /// are, the first need not wait for somebody to set them. A call that wants more than that
    /// would not get them.
    std::int64_t total_of_first() const noexcept
    {
        auto const& head = first();
        bool const is_served = std::cmp_less_equal(head.permits, told_total_);
        return head.total != 0 || !is_served ? head.total : told_total_;
    }
    bool learn_total(waiter const& from) noexcept;
    void tell_others(std::int64_t permits);

    /// Permits that nobody has set are waited for without end.
    void tell_absent()
    {
        if (!std::exchange(is_told_absent_, true))
            core_.tell(events::no_permits_set{name()});
    }
    void count_attempt();
    void send_away_who_tried_once();
    void on_left(waiter&, bool was_first) override;
    void ask_for_next();

    void on_message();

    std::unique_ptr<policy> policy_;
    wait_place place_;
    time_point heard_ = never;  ///< when to ask because of a message
    decide::alarm_queue::alarm sleep_;
    decide::copies has_;  ///< of what the open request has taken
    unsigned replicas_ = 0;
    std::int64_t told_total_ = 0;  ///< that a call of the queue has named; zero: none has
    bool is_told_absent_ = false;
};

}  // namespace colock
