#include "core/core.hpp"
#include "decide/keeping.hpp"
#include "decide/names.hpp"
#include "locks/exclusive_lock.hpp"

#include <utility>

namespace colock {

exclusive_lock::kept::kept(exclusive_lock& lock)
    : of_{lock}
    , core_{lock.core_}
    , channel_{
          of_.how_.subscribes
              ? decide::wanted_channel(
                    of_.how_.channel(of_.name(), core_.settings().key_prefix), core_.uuid()
                )
              : std::string{}}
{}

// Only a lock that this client has had the time before, and nobody else has wanted since: the
// subscriptions would cost more than they save. They have to be live before the lock is taken, so
// that no waiter is missed.
void exclusive_lock::kept::begin_attempt()
{
    auto* const others = of_.contention_.get();
    if (!others || !others->turns.is_alone())
        end();
    else if (others->subscribe(); !std::exchange(is_expected_, true) && !channel_.empty())
        is_live_ = core_.subscriptions().add(channel_, *this);
    is_heard_ = is_expected_ && (is_live_ || channel_.empty());
    others_want_it_ = false;
}

bool exclusive_lock::kept::keep(hold_state& last)
{
    auto const* const others = of_.contention_.get();
    if (!is_expected_ || !others || core_.refusal() || core_.is_stopped())
        return false;
    auto const now = clock::now();
    until_ =
        decide::keeping{
            .now = now,
            .since = of_.since_,
            .keep = core_.settings().keep,
            .max_tenure = core_.settings().max_tenure,
            .valid_until = last.promised_until(),
            .lease = last.proven,
            .is_alone = others->turns.is_alone(),
            .would_hear = is_heard_ && !others_want_it_,
            .is_sure = !of_.ownership_->is_suspect()}
            .until();
    if (until_ <= now)
        return false;
    last_ = last;
    valid_until_ = last.promised_until();
    set_alarm();
    of_.ownership_->vacate(last);
    return true;
}

// A lock that is taken again leaves the alarm as it is: it rings once for many holds.
void exclusive_lock::kept::set_alarm()
{
    if (!alarm_.is_set() || until_ < rings_)
        core_.set_alarm(alarm_, rings_ = until_);
}

void exclusive_lock::kept::on_alarm()
{
    if (clock::now() < until_)
        set_alarm();
    else
        of_.stop_keeping();  // which may destroy this
}

void exclusive_lock::kept::end()
{
    if (std::exchange(is_expected_, false) && !channel_.empty())
        core_.subscriptions().remove(channel_, *this);
    is_live_ = is_heard_ = false;
}

void exclusive_lock::kept::on_message(std::string_view)
{
    others_want_it_ = true;
    of_.stop_keeping();
}

// No waiter is heard any more. Not at once, because others hear of this, too.
void exclusive_lock::kept::on_interrupted()
{
    is_live_ = is_heard_ = false;
    until_ = clock::now();
    if (alarm_.is_set())
        set_alarm();
}

}  // namespace colock
