#pragma once

#include "core/keyed_state.hpp"
#include "core/pause.hpp"
#include "core/script_call.hpp"
#include "decide/alarm_queue.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include "redis/transport.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <string>
#include <vector>

namespace colock {

/// One held permit, from its grant to its release: an id among the leases of a semaphore, and the
/// one hold on it.
///
/// As for a lock, `settle` sets the wanted state at the server, one script after the other: a lease
/// while it is held, nothing when it is not. A renewal is one such step.
class permit_ownership final :
    public keyed_state,
    public hold_target,
    public std::enable_shared_from_this<permit_ownership> {
public:
    permit_ownership(core& inside, std::string semaphore, std::string id);
    ~permit_ownership() override;

    /// `sent` and `lease` are those of the acquire.
    void begin(hold_ptr const&, time_point sent);

    void release(std::shared_ptr<hold_operation>) override;
    void extend(std::shared_ptr<hold_operation>, milliseconds lease) override;
    unsigned slot() const noexcept override { return keyed_state::slot(); }
    std::string shown_name() const override;

    /// The user of the hold has dropped it.
    void abandon_hold(hold_ptr const&) override;

    void on_reached() override;
    void release_all() override;
    void destroy_pending() noexcept override;

private:
    /// The id among the leases of the semaphore.
    std::string const& id() const noexcept { return name(); }

    strand_task settle(std::shared_ptr<permit_ownership> self);
    void ask();
    bool is_settled() const noexcept { return !releasing_ && !due_ && asked_.empty(); }
    script_request next_step(milliseconds lease) const;
    bool may_send_again(answer const&, bool last) const noexcept;
    error_code conclude_release(answer const&);
    error_code conclude_extend(answer const&, milliseconds lease);
    error_code conclude_renewed(time_point sent, milliseconds lease);
    error_code conclude_failed(error_code why);

    bool is_held() const noexcept
    {
        return !hold_.empty() && hold_.front().now() == hold_state::status::held;
    }
    bool is_renewed(time_point now) const noexcept;
    milliseconds promise(time_point now) const noexcept;
    void confirm(time_point sent, milliseconds lease);
    void plan_renewal(time_point at);
    time_point lose_at() const noexcept;
    void watch();
    void expire(time_point now);
    void lose(error_code why);
    void end_hold(error_code why);
    void finish();

    std::string semaphore_;
    std::string leases_;
    /// The one hold, which keeps this alive; none once it is released or destroyed with its
    /// context.
    boost::intrusive::list<hold_state, boost::intrusive::constant_time_size<false>> hold_;
    std::vector<std::shared_ptr<hold_operation>> asked_;
    step* sending_ = nullptr;
    pause pause_;
    decide::alarm_queue::alarm renewal_;
    decide::alarm_queue::alarm loss_;
    decide::alarm_queue::alarm give_up_;
    time_point server_until_{};  ///< about when the longest lease that was set ends
    unsigned failures_ = 0;      ///< of renewals in a row
    bool due_ = false;           ///< a renewal is
    bool settling_ = false;
    bool unsure_ = false;  ///< the answer of a release was lost: a repeat may find its effect
    bool gone_ = false;
    bool releasing_ = false;  ///< released
};

}  // namespace colock
