#include "core/core.hpp"
#include "decide/keeping.hpp"
#include "decide/names.hpp"
#include "locks/contention.hpp"
#include "locks/kept_lock.hpp"

#include <utility>

namespace colock {

kept_lock::kept_lock(core& inside, std::string const& channel, std::function<void()> on_end)
    : core_{inside}
    , channel_{channel.empty() ? std::string{} : decide::wanted_channel(channel, inside.uuid())}
    , on_end_{std::move(on_end)}
{}

// Only a lock that this client has had the time before, and nobody else has wanted since: the
// subscriptions would cost more than they save. They have to be live before the lock is taken, so
// that no waiter is missed.
void kept_lock::begin_attempt(contention* others)
{
    if (!others || !others->turns.is_alone())
        end();
    else if (others->subscribe(); !std::exchange(is_expected_, true) && !channel_.empty())
        is_live_ = core_.subscriptions().add(channel_, *this);
    is_heard_ = is_expected_ && (is_live_ || channel_.empty());
    is_wanted_ = false;
}

bool kept_lock::keep(ownership& of, hold_state& last, contention const* others, time_point since)
{
    if (!is_expected_ || !others || core_.refusal() || core_.is_stopped())
        return false;
    auto const now = clock::now();
    until_ =
        decide::keeping{
            .now = now,
            .since = since,
            .keep = core_.settings().keep,
            .max_tenure = core_.settings().max_tenure,
            .valid_until = last.promised_until(),
            .lease = last.proven,
            .is_alone = others->turns.is_alone(),
            .would_hear = is_heard_ && !is_wanted_,
            .is_sure = !of.is_suspect()}
            .until();
    if (until_ <= now)
        return false;
    last_ = last;
    valid_until_ = last.promised_until();
    set_alarm();
    of.vacate(last);
    return true;
}

// As when a lock is handed over. A lock that is to be acquired over another link is released.
decide::handover_kind kept_lock::how_to_take(
    waiter const& next,
    ownership const& of,
    contention const* others,
    time_point since,
    bool has_token
) const noexcept
{
    if (next.replicas != 0)
        return decide::handover_kind::released;
    return decide::handover{
        .now = clock::now(),
        .since = since,
        .max_tenure = core_.settings().max_tenure,
        .valid_until = valid_until_,
        .lease = last_.proven,
        .is_alike = next.is_alike(last_),
        .is_undisturbed = others && others->is_live && !of.is_suspect(),
        .has_token = has_token,
        .is_quiet = !of.is_renewing()}
        .decide();
}

// A lock that is taken again leaves the alarm as it is: it rings once for many holds.
void kept_lock::set_alarm()
{
    if (!alarm_.is_set() || until_ < rings_)
        core_.set_alarm(alarm_, rings_ = until_);
}

void kept_lock::on_alarm()
{
    if (clock::now() < until_)
        set_alarm();
    else
        on_end_();  // which may destroy this
}

void kept_lock::end()
{
    if (std::exchange(is_expected_, false) && !channel_.empty())
        core_.subscriptions().remove(channel_, *this);
    is_live_ = is_heard_ = false;
}

void kept_lock::on_message(std::string_view)
{
    is_wanted_ = true;
    on_end_();
}

// No waiter is heard any more. Not at once, because others hear of this, too.
void kept_lock::on_interrupted()
{
    is_live_ = is_heard_ = false;
    until_ = clock::now();
    if (alarm_.is_set())
        set_alarm();
}

}  // namespace colock
