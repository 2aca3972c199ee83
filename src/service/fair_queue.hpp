#pragma once

#include "decide/agenda.hpp"
#include "decide/names.hpp"
#include "service/keeper.hpp"
#include "service/protocol.hpp"
#include "service/resident.hpp"
#include "service/tenure.hpp"
#include "service/ticket.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace colock {

/// All that this client knows of one fair lock: the ownership it has, and the tickets of those who
/// wait. Who is next is decided in Redis; nothing is handed over here.
class fair_queue final : public keeper, public resident {
public:
    fair_queue(core& inside, std::string name);
    ~fair_queue() override;

    /// The one of this name, made if there is none.
    static fair_queue& of(core&, std::string const& name);
    static fair_queue* find(core&, std::string const& name);

    std::string const& name() const noexcept { return name_; }
    decide::fair_keys const& keys() const noexcept { return keys_; }
    std::string const& channel() const noexcept { return channel_; }
    tenure* held() const noexcept { return tenure_.get(); }

    /// Takes in an acquire: re-enters, gets a ticket, or answers at once.
    void admit(std::shared_ptr<waiter> const&);

    // ---- For the tickets -----------------------------------------------------------------------

    /// The server has granted it.
    void give(
        std::shared_ptr<waiter> const&, std::uint64_t number, std::uint64_t token, time_point sent
    );

    /// Nobody wants what may stand in Redis until then: a place, or the lock.
    void give_back(std::uint64_t number, time_point until, bool synced = false);

    /// After so many ms it is worth asking again. The first who waits here does it for all: the
    /// others hear from the server what concerns them.
    void look_again(ticket const&, std::int64_t ask_in);

    /// It has nothing to do any more. Afterwards it may be gone, and so may this.
    void forget(ticket&);

    // ---- For the ownership ---------------------------------------------------------------------

    bool hand_over(hold_state&) override { return false; }
    std::uint32_t expect_echo(std::string const&) override { return 0; }
    void published(unsigned) override {}
    void unheard(tenure const&) override;
    void ended(tenure&) override;

    // ---- For the core --------------------------------------------------------------------------

    void on_link_up() override {}  // the heart-beat sees to the tickets
    void end_waiters(error_code why) override;
    void release_all() override {}
    void abandon() noexcept override;

private:
    void enter(std::shared_ptr<waiter> const&);
    void admit_same_owner(waiter const&);
    void leave_if_idle();
    ticket* first() const noexcept;

    std::string name_;
    decide::fair_keys keys_;
    std::string channel_;  ///< of the lock; each ticket has its own, which begins like this
    std::list<std::shared_ptr<ticket>> tickets_;  ///< in order of arrival
    std::shared_ptr<tenure> tenure_;
    unsigned leaving_ = 0;  ///< ownerships beside it that are being released
    decide::agenda::entry look_;
    time_point look_at_{};
    decide::agenda::entry clean_up_;
    std::uint64_t spent_ = 0;  ///< the number to do that with
};

}  // namespace colock
