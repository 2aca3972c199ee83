#pragma once

#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/linked_list.hpp"
#include "decide/outcome.hpp"
#include "waiting/waiter.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <memory>

namespace colock {

class ownership;

/// The calls of this client that wait for one name, first come first served. The state of a lock, a
/// semaphore or a latch derives from this class, and asks the server on their behalf.
///
/// A waiter in the queue owns itself. Completing one may not run anything of the user's, but waking
/// the task that asks may run anything, and destroy the queue.
class wait_queue : public keyed_state, public std::enable_shared_from_this<wait_queue> {
public:
    using keyed_state::keyed_state;

    /// Takes in a call: it gets its answer at once, or joins the queue.
    virtual void admit(std::shared_ptr<waiter> const&) = 0;

    /// The caller of a waiter in the queue wants no more, for this reason; none: its wait ran out.
    void leave(waiter&, failure why);

    /// Whether those who wait can't have it now, as far as this client knows: somebody else has it
    /// by the last answer of the server, or this client has it itself.
    virtual bool is_taken() const noexcept { return is_refused_; }

    void end_waiters(failure why) override;
    void tell(presence&) const override;
    void destroy_pending() noexcept override;

    // ---- For locks -----------------------------------------------------------------------------

    /// The ownership of this client; where several owners may have the lock, the one of this owner.
    virtual ownership* held(owner const&) const noexcept { return nullptr; }

    /// The one with this number.
    virtual ownership* with_number(std::uint64_t) const noexcept { return nullptr; }

    /// An ownership that somebody has taken away asks the server.
    bool on_forced(std::uint64_t number) override;
    bool wants(std::uint64_t number) const noexcept override;

    /// The lock was forced, by a script that was sent then.
    virtual void taken_away(time_point /*sent*/) {}

protected:
    bool is_empty() const noexcept { return queue_.empty(); }
    waiter& first() noexcept { return queue_.front(); }
    waiter const& first() const noexcept { return queue_.front(); }

    void join(std::shared_ptr<waiter> const&);

    /// It is not in the queue any more, but not answered yet.
    std::shared_ptr<waiter> take_out(waiter&);
    std::shared_ptr<waiter> take_first() { return take_out(first()); }

    /// Takes it out, and answers its caller.
    void dismiss(waiter& who, failure why) { take_out(who)->fail(why); }

    /// Ends those that had called when the number of calls was `last`: the refusal of a request
    /// says nothing to a call that came after it.
    void end_arrived(std::uint64_t last, failure why);

    /// A single try does not wait. `which` says which of them have had theirs.
    template <class Predicate>
    void send_away_who_tries_once(Predicate const& which)
    {
        for (auto at = trying_.begin(); at != trying_.end();)
            if (waiter& who = *at++; which(who))
                dismiss(who, {});
    }
    void send_away_who_tries_once()
    {
        send_away_who_tries_once([](waiter const&) { return true; });
    }

    /// This call has just got the lock. No owner may wait for itself, so the other calls of its
    /// owner enter as well, or fail.
    void admit_same_owner(waiter const& holder);

    /// A call of the owner that has the lock: it gets another hold, where the kind of lock allows.
    virtual void enter(std::shared_ptr<waiter> const& who) { who->fail(error::would_deadlock); }

    /// This waiter is out of the queue: nobody wants the request that is for it alone any more.
    /// `was_first`: it has left by itself, as the head.
    virtual void on_left(waiter&, bool was_first) = 0;

    /// The first has left, or the queue may go on for another reason.
    virtual void on_queue_changed() {}

    /// The server has said that somebody else has it.
    void note_taken() noexcept { is_refused_ = true; }

    /// The same by this answer, also if this client has it from now on; or nothing is known any
    /// more, because none has come. An answer that did not wait for copies shows how long a
    /// script is on its way.
    void note_answer(
        decide::outcome const& is, answer const& got, decide::copies const& wanted = {}
    ) noexcept
    {
        if (got.what == answer::kind::replied && wanted.is_none())
            core_.round_trip().note(clock::now() - got.sent);
        using kind = decide::outcome::kind;
        if (is.what != kind::withdrawn)
            is_refused_ =
                is.what == kind::refused || is.what == kind::granted || is.what == kind::unsynced;
    }

    boost::intrusive::list<waiter, boost::intrusive::constant_time_size<false>> queue_;

private:
    void unlink(waiter&) noexcept;

    // So that a long queue is not walked:

    /// Those that try once: each refusal sends them away.
    decide::linked_list<waiter, trying_hook> trying_;

    struct owner_number {
        using type = std::uint64_t;
        type operator()(waiter const& of) const noexcept { return of.who.number(); }
    };
    /// Those that have named their owner: a grant admits all of its owner.
    boost::intrusive::multiset<
        waiter,
        boost::intrusive::base_hook<owner_hook>,
        boost::intrusive::key_of_value<owner_number>,
        boost::intrusive::constant_time_size<false>>
        by_owner_;

    bool is_refused_ = false;  ///< to others, by the last answer
};

/// The queue of this waiter; `make` makes it if there is none.
template <class Queue, class Make>
Queue& queue_of(waiter const& who, Make const& make)
{
    return find_or_make<Queue>(who.inside->keyed_states(), who.kind, who.name, make);
}

}  // namespace colock
