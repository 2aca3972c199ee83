// The times of a permit: how long it is valid, when it is renewed, and when it counts as lost.
#include "core/core.hpp"
#include "counters/permit_ownership.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using status = hold_state::status;

bool permit_ownership::is_renewed(time_point now) const noexcept
{
    auto const longest = core_.settings().max_hold;
    return is_held() && hold_.front().renewed && (!longest || now - hold_.front().born < *longest);
}

milliseconds permit_ownership::promise(time_point now) const noexcept
{
    if (!is_held())
        return milliseconds{1};
    return is_renewed(now)
        ? hold_.front().lease
        : std::max(milliseconds{1}, std::chrono::ceil<milliseconds>(hold_.front().ends - now));
}

// The set lease may be longer than a lease that was requested since.
void permit_ownership::confirm(time_point sent, milliseconds set)
{
    auto& hold = hold_.front();
    auto const lease = std::min(hold.lease, set);
    server_until_ = std::max(server_until_, sent + set);
    hold.ends = std::max(hold.ends, sent + lease);
    auto const until = decide::valid_until(sent, lease);
    if (until >= hold.promised_until()) {
        hold.proven = lease;
        hold.set_valid_until(until);
    }
    watch();
}

void permit_ownership::plan_renewal(time_point at) { core_.set_alarm(renewal_, at); }

time_point permit_ownership::lose_at() const noexcept
{
    auto const& hold = hold_.front();
    auto const lease = std::min(hold.lease, hold.proven);
    return hold.promised_until() - decide::loss_margin(lease, core_.settings().loss_margin);
}

void permit_ownership::watch() { core_.set_alarm(loss_, lose_at()); }

void permit_ownership::expire(time_point now)
{
    if (!is_held())
        return;
    if (now >= lose_at())
        lose(error::lost);
    else
        watch();
}

void permit_ownership::lose(error_code why)
{
    if (!is_held())
        return;
    renewal_.clear();
    loss_.clear();
    hold_.front().lose();
    core_.events().lost(semaphore_, why);
    core_.log(log_level::warning, [&] {
        return "permit of " + semaphore_ + ": lost: " +
            (gone_ ? "the server no longer has it (its lease ended there, or it was "
                     "released by its id)"
                   : hold_.front().why_unproven(core_.settings().max_hold)) +
            "; stop the work it allows";
    });
}

}  // namespace colock
