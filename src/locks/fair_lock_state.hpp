#pragma once

#include "core/keyed_state.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/names.hpp"
#include "holds/ownership.hpp"
#include "holds/ownership_listener.hpp"
#include "holds/protocol.hpp"
#include "locks/fair_waiter.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace colock {

/// All that this client knows of one fair lock: its ownership and its waiters. The queue in Redis
/// decides which waiter is next; there is no hand-over here.
class fair_lock_state final : public ownership_listener, public keyed_state {
public:
    fair_lock_state(core& inside, std::string name);
    ~fair_lock_state() override;

    /// The state for this name; makes it if there is none.
    static fair_lock_state& of(core&, std::string const& name);
    static fair_lock_state* find(core&, std::string const& name);

    std::string const& name() const noexcept { return name_; }
    decide::fair_keys const& keys() const noexcept { return keys_; }
    std::string const& channel() const noexcept { return channel_; }
    ownership* held() const noexcept { return ownership_.get(); }

    /// Admits an acquire: it re-enters, becomes a waiter, or gets its answer at once.
    void admit(std::shared_ptr<waiter> const&);

    // ---- For the waiters -----------------------------------------------------------------------

    /// The server has granted it.
    void give(
        std::shared_ptr<waiter> const&, std::uint64_t number, std::uint64_t token, time_point sent
    );

    /// Gives back what may exist in Redis until then and nobody wants: a place, or the lock.
    void give_back(std::uint64_t number, time_point until, bool synced = false);

    /// It is worth asking again after this many ms. The first waiter here asks for all; the server
    /// tells the others.
    void look_again(fair_waiter const&, std::int64_t ask_in);

    /// The fair waiter has nothing to do any more. This call may destroy it and this object.
    void forget(fair_waiter&);

    // ---- For the ownership ---------------------------------------------------------------------

    bool hand_over(hold_state&) override { return false; }
    std::uint32_t expect_echo(std::string const&) override { return 0; }
    void published(unsigned) override {}
    void unheard(ownership const&) override;
    void ended(ownership&) override;

    // ---- For the core --------------------------------------------------------------------------

    void on_link_up() override {}  // the heartbeat takes care of the tickets
    void end_waiters(error_code why) override;
    void release_all() override {}
    void destroy_pending() noexcept override;

private:
    void enter(std::shared_ptr<waiter> const&);
    void admit_same_owner(waiter const&);
    void unregister_if_idle();
    fair_waiter* first() const noexcept;

    std::string name_;
    decide::fair_keys keys_;
    std::string channel_;  ///< of the lock; the channel of each waiter begins with it
    std::list<std::shared_ptr<fair_waiter>> waiters_;  ///< in order of arrival
    std::shared_ptr<ownership> ownership_;
    unsigned releasing_ = 0;  ///< other ownerships that are being released
    decide::alarm_queue::alarm look_;
    time_point look_at_{};
    decide::alarm_queue::alarm clean_up_;
    std::uint64_t spent_ = 0;  ///< the number for that release
};

}  // namespace colock
