#pragma once

#include "base/clock.hpp"
#include "base/strand_task.hpp"
#include "core/subscription_manager.hpp"
#include "decide/reply.hpp"
#include "locks/waiter.hpp"
#include "redis/transport.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace colock {

class fair_lock_state;
class fair_waiter;

/// The place of a waiter in the heartbeat of its lane.
struct heartbeat_hook :
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    time_point due{};
};

/// One acquire of a fair lock, with its ticket, the entry in the queue in Redis: a number that
/// becomes the field of the hash when its turn has come.
///
/// It asks until it has the lock or its caller gives up. Then it gives back what it may have left
/// in Redis, a place or the lock.
class fair_waiter final :
    public wait_queue,
    public heartbeat_hook,
    private subscription_manager::listener {
public:
    fair_waiter(fair_lock_state& of, std::shared_ptr<waiter> who);

    /// Begins to ask. May end at once, and with it this object.
    void start() { ask(); }

    /// It has a ticket in the queue, or may have.
    bool has_ticket() const noexcept { return has_ticket_; }

    /// Its caller waits, and has no answer yet.
    bool is_waiting() const noexcept { return who_ && !who_->once; }

    /// Whether its caller named this owner.
    bool waits_for(owner const&) const noexcept;

    fair_lock_state const& lock() const noexcept { return lock_; }

    /// Grows with each fair waiter of the client.
    std::uint64_t number() const noexcept { return number_; }
    std::string field() const;

    /// The caller gives up. This call may destroy this object.
    void leave(waiter&, error_code why) override;
    void stop(error_code why);

    /// The caller gets the lock in another way. This call may destroy this object.
    std::shared_ptr<waiter> detach_waiter();

    /// Asks again, unless it is asking now.
    void look();

    /// The server is reached again. A heartbeat will find out whether the place still exists. Until
    /// `kept` or `look` it asks for nothing, so that the waiters of one lock ask in order.
    void begin_revival();

    /// The answer to its heartbeat that was sent then; malformed: an unreadable answer.
    void kept(decide::keep_answer const&, time_point sent);

    /// Destroys the handler without calling it, because the context is destroyed.
    void destroy_pending() noexcept;

    std::list<std::shared_ptr<fair_waiter>>::iterator position;  ///< in the list of its lock

private:
    struct attempt;
    /// The consequence of an answer for the next step.
    enum class verdict { again, pause, sleep };

    strand_task ask();
    verdict judge(attempt const&, answer const&);
    verdict on_granted(attempt const&, std::uint64_t token, time_point sent);
    verdict on_unsynced(attempt const&, error_code why);
    verdict on_refused(attempt const&, std::int64_t ask_in, time_point sent);
    void may_stand(attempt const&) noexcept;
    void may_have_ticket(attempt const&);
    void ask_now();
    void begin_anew();
    void give_back();
    void go();
    std::shared_ptr<waiter> take_waiter();
    void fail(error_code);
    bool subscribe();
    void unsubscribe();

    void on_subscribed() override;
    void on_message(std::string_view) override { ask_now(); }
    void on_interrupted() override {}

    core& core_;
    fair_lock_state& lock_;
    std::shared_ptr<waiter> who_;  ///< none once the caller has its answer
    bool synced_;                  ///< asks over the link that waits for replicas
    std::uint64_t number_;
    time_point unclaimed_{};  ///< until then it may exist in Redis
    time_point asked_{};      ///< when the last answered attempt was sent
    std::string channel_;     ///< subscribed, if not empty
    event<bool> wake_;
    step* sending_ = nullptr;
    unsigned late_ = 0;  ///< grants in a row that came too late
    bool has_ticket_ = false;
    bool sleeping_ = false;
    bool reviving_ = false;
    bool missed_ = false;  ///< it missed a reason to ask while it was reviving
};

}  // namespace colock
