#pragma once

#include "base/recycling.hpp"
#include "decide/handover.hpp"
#include "decide/open_request.hpp"
#include "decide/reply.hpp"
#include "locks/contention.hpp"
#include "locks/one_owner.hpp"
#include "redis/transport.hpp"
#include "waiting/contender.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace colock {

/// All that this client knows of a key that one owner holds at a time: its ownership, its waiters,
/// and the one attempt that is under way for the first of them.
class exclusive_lock : public one_owner {
public:
    exclusive_lock(core& inside, lock_traits const&, std::string name);
    ~exclusive_lock() override;

    /// The state of this lock; nothing if there is none.
    static exclusive_lock* find(core& inside, lock_kind kind, std::string_view name) noexcept
    {
        return static_cast<exclusive_lock*>(inside.keyed_states().find(state_of(kind), name));
    }

    // ---- For the calls -------------------------------------------------------------------------

    void on_turn(std::uint64_t number, std::uint64_t listening) override;
    void on_mailbox() override
    {
        if (contention_)
            contention_->on_mailbox();
    }

    /// Admits an acquire: it re-enters, joins the queue, or gets its answer at once.
    void admit(std::shared_ptr<waiter> const&) override;

    /// The server has moved the lock to this waiter, who is in no queue.
    void
    adopt(std::shared_ptr<waiter> const&, std::uint64_t number, std::uint64_t token, decide::proven_grant const&);

    // ---- For the ownership ---------------------------------------------------------------------

    bool hand_over(hold_state& last) override;
    std::uint64_t number_that_joins() override;
    void released(ownership const&, decide::release_answer const&, unsigned others) override;
    void ended(ownership&) override;

    // ---- For the core --------------------------------------------------------------------------

    bool is_in_use() const noexcept override { return !is_empty() || is_asking() || ownership_; }
    bool awaits_message() const noexcept override;
    void on_reached() override
    {
        if (is_asleep())
            contention_->look_soon();
    }
    void end_waiters(failure why) override
    {
        auto const life = shared_from_this();
        wait_queue::end_waiters(why);
        if (is_asking())
            asker_->on_head_left();
    }

    /// Drops what is remembered of the turns between clients.
    void forget() override;

protected:
    // Hooks for a lock with another queue beside this one; see `writers`.

    /// A waiter of another queue came before this one.
    virtual bool stands_behind(waiter const&) const { return false; }

    /// Whether the ownership may go to the next waiter unchanged.
    virtual bool may_go_on(ownership const&) const { return true; }

    waiter const* head() const noexcept { return is_empty() ? nullptr : &first(); }

    /// Lets the head go on, which may have waited for another queue. Neither an attempt under way
    /// nor a sleep until a known time needs this.
    void go_on()
    {
        if (awaits_attempt() && !is_asleep())
            asker_->wake();
    }

    /// Without a live subscription a sleeping head asks at once. May end the last waiter and so
    /// destroy this.
    bool ask_unless_told();

private:
    /// Asks the server for the head of the queue.
    class asker : public recycled, public contender {
    public:
        explicit asker(exclusive_lock& whose) : contender{whose.core_}, of_{whose} {}

        void start();

        event<bool>& wake_event() noexcept { return wake_; }

        /// The head has left: the next one has its turn. If nobody is left, an attempt that is not
        /// sent yet is taken back.
        void on_head_left();

        /// The head will ask with this field, which may exist at the server until then.
        void take_over(ownership const&);
        bool takes_over() const noexcept { return request_.stands(clock::now()); }

        /// The number of its request that a release may put into the wait list; zero for none.
        std::uint64_t number_that_joins();
        std::uint64_t number() const noexcept { return request_.number(); }
        decide::open_request const& asked() const noexcept { return request_; }

        // ---- For `contend`. It waits for this client's own hold, the turn of others, the holder's
        // release, or the end of its lease.

        struct attempt;
        bool is_wanted() const noexcept { return !of_.is_empty(); }
        bool has_to_wait();
        bool judge(attempt const&, answer const&);
        void get_up() noexcept;
        void end();

    private:
        void begin();
        std::string since(mailbox::state const& now);
        std::string list() const;
        std::uint64_t tokens_to_ask() const;
        std::string counter() const;
        std::uint64_t followers() const noexcept;

        // True if it has to sleep.
        bool on_refused(attempt const&, decide::acquire_answer const&);

        void on_granted(attempt const&, decide::acquire_answer const&, decide::proven_grant const&);
        void on_unsynced(failure why);
        void pause_between_tries(std::int64_t pttl);
        void give_back();

        /// The number may have the lock still, or stand in the list, which nobody wants by that.
        void give_back_if_open()
        {
            if (request_.is_listed() || request_.stands(clock::now()))
                give_back();
        }

        exclusive_lock& of_;  ///< its request has the number of the ownership that it asks for
    };

    asker& ensure_asker()
    {
        if (!asker_)
            asker_ = std::make_unique<asker>(*this);
        return *asker_;
    }
    bool is_asking() const noexcept { return asker_ && asker_->is_contending(); }
    bool is_sending() const noexcept { return asker_ && asker_->is_sending(); }
    /// It asks, and its next attempt is not sent yet.
    bool awaits_attempt() const noexcept { return is_asking() && !is_sending(); }

    /// A single try may join an attempt that is not under way yet. Otherwise the lock is taken, or
    /// others are first; but the re-entry of its own owner lets it in, too.
    bool is_taken_for(waiter const& who) const
    {
        bool const is_wanted = ownership_ && ownership_->is_wanted();
        bool const enters_soon = is_wanted && who.shared_owner && ownership_->who() == who.who;
        return !enters_soon && (is_wanted || awaits_attempt() || stands_behind(who));
    }

    contention& ensure_contention();
    void on_contention_alarm()
    {
        if (is_asking())
            asker_->wake();
        else
            asking_ended();
    }

    /// Nobody waits any more. The contention refers to the asker. May destroy this.
    void asking_ended();

    /// How the next waiter may get the lock from the last hold, which ends.
    decide::handover_kind how_to_pass(waiter const& next, hold_state const& last) const;

    bool is_asleep() const noexcept { return contention_ && contention_->is_sleeping(); }
    void forget_tenure() noexcept;
    void forget_if_idle() noexcept;

    bool draws_tokens() const noexcept
    {
        return core_.settings().fencing || how_.has_redisson_tokens;
    }

    /// A lease of a number at the server, by a step that was sent then.
    struct grant {
        std::uint64_t number;
        std::uint64_t last_token;
        std::uint64_t tokens;
        decide::proven_grant proven;
    };
    void hand_out(grant const&);
    void begin(waiter&, hold_ptr const& taken, grant const&);

    hold_ptr make_hold(waiter const&, std::uint64_t only_token);
    void on_left(waiter&, bool was_first) override
    {
        if (was_first && asker_)
            asker_->on_head_left();
    }

    time_point since_{};                      ///< the tenure's first grant
    std::unique_ptr<asker> asker_;            ///< while somebody waits, or there is contention
    std::unique_ptr<contention> contention_;  ///< refers to the asker, so it goes first
};

}  // namespace colock
