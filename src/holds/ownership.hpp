#pragma once

#include "core/pause.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/renewal_schedule.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include "holds/ownership_listener.hpp"
#include "holds/protocol.hpp"
#include "holds/renewable.hpp"
#include "redis/transport.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace colock {

using detail::core;
using detail::core_ptr;

/// One ownership of a lock: a field in Redis, from the acquire that wrote it to the release that
/// removes it, and the holds that live on it.
///
/// The holds need a depth and a lease at the server; `settle` sets them, one script after the
/// other. So re-entry, partial release, release and extension are one loop, and no step depends on
/// how often another one ran.
class ownership final :
    public hold_target,
    public std::enable_shared_from_this<ownership>,
    public renewable {
public:
    ownership(
        core& inside, ownership_listener& of, lock_ref, std::uint64_t number, owner const& who
    );
    ~ownership();

    std::string const& name() const noexcept { return name_; }
    std::uint64_t number() const noexcept { return number_; }
    unsigned slot() const noexcept override { return slot_; }
    std::string shown_name() const override { return name_.substr(prefix().size()); }
    owner const& who() const noexcept { return who_; }
    std::uint64_t token() const noexcept { return token_; }
    protocol const& how() const noexcept { return how_; }
    time_point server_until() const noexcept { return server_until_; }

    /// A renewal is unanswered.
    bool is_renewing() const noexcept { return unanswered_ != 0; }

    /// It may have been taken away, and no later script has found it.
    bool is_suspect() const noexcept { return suspected_ != never; }

    /// The server no longer has it.
    bool is_gone() const noexcept { return gone_; }

    /// It is the current one of its lock: not lost, and not ended.
    bool is_current() const noexcept { return listener_ != nullptr; }

    /// A step of it is under way.
    bool is_settling() const noexcept { return settling_; }

    /// Somebody may have taken it away: asks the server whether it still stands.
    void suspect();

    /// It has a holder that has not been told of a loss.
    bool is_held() const noexcept;
    std::size_t living_holds() const noexcept;

    /// The first hold; `sent` and `lease` are those of the acquire.
    void begin(hold_ptr, time_point sent, milliseconds lease);

    /// Begins without an acquire: the server admits it because of another ownership in the same
    /// hash, with the same owner and number. `enter` follows.
    void begin_beside(ownership& other);

    /// The other side of the hash, which had the longer lease, has ended: restores this one's
    /// lease, unless a renewal will.
    void set_lease_again();

    /// Releases a grant, or a possible grant, that nobody wants: until that moment, and over the
    /// link of its request.
    void give_back(time_point until, bool synced = false);

    /// Enters once more for the same owner; `entered` gets the outcome.
    void enter(std::shared_ptr<hold_operation>);
    void release(std::shared_ptr<hold_operation>) override;
    void extend(std::shared_ptr<hold_operation>, milliseconds lease) override;

    /// A waiter's hold takes the place of the last hold, without a command.
    void pass_on(hold_state& last, hold_ptr const& next);

    /// The last hold ends, and another ownership takes over the field.
    void let_go(hold_state& last);

    /// The user of a hold has dropped it.
    void abandon_hold(hold_ptr const&) override;

    void release_all() override;

    /// The field is gone, by an answer of the server or a forced release of this client.
    void gone(error_code why);

    /// A script that was sent then took the lock away. An earlier grant is gone. For a later grant
    /// the server is asked, because links may overtake each other.
    void taken_away(time_point sent);

    /// When it was granted.
    time_point begun() const noexcept { return begun_; }

    void destroy_pending() noexcept override;

    // ---- For the watchdog ----------------------------------------------------------------------

    std::shared_ptr<renewable> share() override { return shared_from_this(); }
    scripts::script const& renewal_script() const noexcept override { return *how().renew; }

    void renew() override;
    renewal begin_renewal() noexcept override;
    void write_renewal(renewal_texts&, renewal const&) const override;
    void renewal_answered(renewal const&, answer const&, decide::reply const* reply, double jitter)
        override;
    bool renewal_refused(renewal const&) noexcept override;
    void renew_now() override;
    void expire(time_point now) override;

private:
    using hold_list =
        boost::intrusive::list<hold_state, boost::intrusive::constant_time_size<false>>;

    struct request;
    struct send_limit;

    strand_task settle(std::shared_ptr<ownership> self);
    void enqueue();
    void forget_renewal() noexcept;
    void renewed(time_point sent, milliseconds set, time_point now, double jitter);
    void renewal_failed(error_code why, bool is_busy);

    /// The lease to set now: the longest that any hold was promised, including those of the other
    /// side.
    milliseconds promise() const noexcept;
    milliseconds promised_here() const noexcept;

    /// The other ownership in the same hash, if it exists.
    std::shared_ptr<ownership> beside() const noexcept;

    /// The server may have the field until then: the other side of the hash keeps it alive.
    time_point stands_until() const noexcept;

    /// The client's list, over all names.
    std::string const& prefix() const noexcept;

    void begin_release(std::string const& channel);
    void settled();
    void conclude(request const&, hold_operations const& doing, answer const&);
    error_code conclude_release(answer const&, request const&, error_code unanswered);
    void let_run_out();
    unsigned others_of(std::int64_t receivers, std::string_view channel) const noexcept;
    error_code conclude_extend(hold_operations const& doing, answer const&, milliseconds set);
    bool may_send_again(answer const&, hold_operations const& doing) const noexcept;
    void ask(std::shared_ptr<hold_operation>);
    void remove(hold_state&, error_code why);
    void lose(hold_state&, error_code why);
    time_point lose_at(hold_state const&) const noexcept;
    bool may_renew() const noexcept;
    bool is_to_be_renewed() const noexcept;
    void confirm(hold_state&, time_point sent, milliseconds set) noexcept;
    void watch();
    void clear_suspicion(time_point sent) noexcept;
    bool is_last(hold_state const&) const noexcept;
    void detach();
    void finish();
    bool is_renewed(hold_state const&) const noexcept;

    /// It has to stay taken although its hold, or the last one, ends.
    static bool is_kept(hold_state const& hold) noexcept
    {
        return clock::now() < hold.born + hold.at_least;
    }
    bool is_kept() const noexcept { return clock::now() < kept_until_; }

    milliseconds shortest_renewed_lease() const noexcept;

    core& core_;
    protocol const& how_;
    ownership_listener* listener_;  ///< none once another ownership of the lock may begin
    std::weak_ptr<ownership> beside_;
    std::string name_;
    std::uint64_t number_;
    unsigned slot_;
    owner who_;
    std::uint64_t token_ = 0;

    hold_list holds_;
    hold_operations asked_;
    step* sending_ = nullptr;
    time_point begun_{};
    time_point server_until_{};  ///< the server's lease has ended by then, whatever answer was lost
    time_point kept_until_{};    ///< it stays taken until then, also after a release
    time_point renew_at_ = never;
    time_point suspected_ = never;  ///< since when
    std::uint64_t renewal_ = 0;     ///< the latest sent
    unsigned failures_ = 0;         ///< of renewals in a row
    unsigned unanswered_ = 0;       ///< renewals
    std::uint32_t echo_ = 0;        ///< the connection on which its own message is expected, if any
    bool renewing_ = false;         ///< its answer is still of interest
    bool settling_ = false;
    bool unsure_ = false;  ///< a step's answer was lost: a repeat may find its effect
    bool gone_ = false;
    bool synced_ = false;     ///< requested over the link that waits for replicas
    bool endless_ = false;    ///< a place in a queue, which has no lease: released however late
    bool releasing_ = false;  ///< the release script was sent
};

}  // namespace colock
