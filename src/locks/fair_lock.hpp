#pragma once

#include "core/subscription_manager.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/names.hpp"
#include "decide/open_request.hpp"
#include "locks/heartbeat.hpp"
#include "locks/one_owner.hpp"
#include "waiting/contender.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace colock {

/// All that this client knows of one fair lock: its ownership and its waiters. The queue in Redis
/// decides which waiter is next; there is no hand-over here.
class fair_lock_state final : public one_owner {
public:
    class asker;

    fair_lock_state(core& inside, lock_traits const&, std::string name);
    ~fair_lock_state() override;

    decide::fair_keys const& keys() const noexcept { return keys_; }
    std::string const& channel() const noexcept { return channel_; }

    /// Admits an acquire: it re-enters, becomes a waiter, or gets its answer at once.
    void admit(std::shared_ptr<waiter> const&) override;

    // ---- For the askers ------------------------------------------------------------------------

    /// The server has granted it.
    void hand_out(waiter&, std::uint64_t number, std::uint64_t token, decide::proven_grant const&);

    /// Gives back what may exist in Redis until then and nobody wants: a place, or the lock.
    void give_back(std::uint64_t number, time_point until, decide::copies const& wanted = {});

    /// It is worth asking again after this many ms. The first waiter here asks for all; the server
    /// tells the others.
    void look_again(asker const&, std::int64_t ask_in);

    /// The asker begins again at the end of the server's queue, and the others come before it.
    void put_last(asker const&) noexcept;

    /// The asker has nothing to do any more. This call may destroy it and this object.
    void remove(asker&);

    // ---- For the ownership ---------------------------------------------------------------------

    void released(ownership const&, decide::release_answer const&, unsigned) override;
    void ended(ownership&) override;

    // ---- For the core --------------------------------------------------------------------------

    void end_waiters(failure why) override;
    void destroy_pending() noexcept override;

private:
    static asker& asker_of(waiter const&) noexcept;
    void on_left(waiter&, bool was_first) override;
    void unregister_if_idle();
    asker* first_to_ask() const noexcept;
    bool is_taken_for_a_try() const noexcept;

    decide::fair_keys keys_;
    std::string channel_;  ///< of the lock; the channel of each waiter begins with it
    std::list<std::shared_ptr<asker>> waiters_;  ///< in order of arrival
    unsigned releasing_ = 0;                     ///< other ownerships that are being released
    decide::alarm_queue::alarm look_;
    decide::alarm_queue::alarm clean_up_;
    std::uint64_t spent_ = 0;  ///< the number for that release
};

/// One acquire of a fair lock, with its ticket, the entry in the queue in Redis: a number that
/// becomes the field of the hash when its turn has come.
///
/// It asks until it has the lock or its caller gives up. Then it gives back what it may have left
/// in Redis, a place or the lock.
class fair_lock_state::asker final :
    public heartbeat::ticket,
    public contender,
    private subscription_manager::listener {
public:
    asker(fair_lock_state& of, waiter& who);

    /// Begins to ask. May end at once, and with it this object.
    void start();

    /// It has a ticket in the queue, or may have.
    bool has_ticket() const noexcept { return has_ticket_; }

    /// Its caller waits, and has no answer yet.
    bool is_waiting() const noexcept { return who_ && !who_->once; }

    std::string field() const;

    /// Grows with each fair waiter of the client.
    std::uint64_t number() const noexcept override { return request_.number(); }
    unsigned slot() const noexcept override;
    heartbeat::names names() const override;
    std::shared_ptr<heartbeat::ticket> share() override { return *position; }

    /// Its caller has its answer, or gets it elsewhere. This call may destroy this object.
    void let_go();

    /// Asks again, unless it is asking now.
    void look() override;

    /// The server is reached again. A heartbeat will find out whether the place still exists. Until
    /// `kept` or `look` it asks for nothing, so that the waiters of one lock ask in order.
    void begin_revival() override;

    /// The answer to its heartbeat that was sent then; malformed: an unreadable answer.
    void kept(decide::keep_answer const&, time_point sent) override;

    /// The context is destroyed, and with it the caller.
    void forget_caller() noexcept { who_ = nullptr; }

    std::list<std::shared_ptr<asker>>::iterator position;  ///< in the list of its lock

    // ---- For `contend`. A refusal is a place in the server's queue. When the lock is free, a
    // message on its own channel tells the first waiter. A missed message is found out: when the
    // subscription is confirmed, by the heartbeat, and by the first waiter here when the lease
    // ends.

    struct attempt;
    bool is_wanted() const noexcept { return who_ != nullptr; }

    /// A reason to ask that comes while its place is being revived waits for that.
    bool has_to_wait() noexcept
    {
        missed_ = reviving_;
        return reviving_;
    }
    bool judge(attempt const&, answer const&);
    void end();

private:
    // True if it has to sleep.
    bool on_refused(attempt const&, std::int64_t ask_in, time_point sent);

    void on_granted(std::uint64_t token, decide::proven_grant const&);
    void on_unsynced(failure why);
    void may_stand(attempt const&) noexcept;
    void keep_ticket(time_point alive_at);
    void begin_anew();
    void give_back();
    void detach() noexcept;
    void fail(failure);
    bool subscribe();
    void unsubscribe();

    void on_subscribed() override;
    void on_message(std::string_view) override { wake_.set(true); }

    core& core_;
    fair_lock_state& lock_;
    waiter* who_;          ///< in the queue of the lock; none once the caller has its answer
    time_point asked_{};   ///< when the last answered attempt was sent
    std::string channel_;  ///< subscribed, if not empty
    bool has_ticket_ = false;
    bool reviving_ = false;
    bool missed_ = false;  ///< it missed a reason to ask while it was reviving
};

}  // namespace colock
