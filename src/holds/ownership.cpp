#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "holds/hold_registry.hpp"
#include "holds/ownership.hpp"
#include "holds/watchdog.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace colock {

using status = hold_state::status;

ownership::ownership(
    core& inside, ownership_listener& of, lock_ref which, std::uint64_t number, owner const& who
)
    : core_{inside}
    , how_{which.how}
    , listener_{&of}
    , name_{which.name}
    , number_{number}
    , slot_{decide::slot_of(name_)}
    , who_{who}
{
    core_.holds().add(*this);
}

ownership::~ownership() = default;

bool ownership::is_held() const noexcept { return living_holds() != 0; }

std::size_t ownership::living_holds() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(holds_, [](hold_state const& h) {
        return h.is_confirmed();
    }));
}

void ownership::destroy_pending() noexcept
{
    auto const asked = std::exchange(asked_, {});
    while (!holds_.empty()) {
        auto& hold = holds_.front();
        holds_.pop_front();  // a handler may own holds of this ownership
        auto const waits = std::exchange(hold.loss_waits, nullptr);
    }
}

void ownership::begin(hold_ptr first, time_point sent, milliseconds lease)
{
    begun_ = clock::now();
    server_until_ = begun_ + lease;
    token_ = first->token;
    first->target = shared_from_this();
    first->born = begun_;
    first->ends = sent + lease;
    holds_.push_back(*first);
    confirm(*first, sent, lease);
    renew_at_ = core_.watchdog().first_renewal(sent, lease);
    watch();
}

void ownership::begin_beside(ownership& other)
{
    begun_ = clock::now();
    server_until_ = other.server_until_;
    beside_ = other.weak_from_this();
    other.beside_ = weak_from_this();
}

std::shared_ptr<ownership> ownership::beside() const noexcept
{
    auto const other = beside_.lock();
    return other && other->is_listed() && !other->gone_ ? other : nullptr;
}

void ownership::set_lease_again()
{
    if (is_held() && !releasing_ && shortest_renewed_lease() == milliseconds::max())
        ask(make_recycled<hold_operation>(core_.shared_from_this(), nullptr));
}

std::string const& ownership::prefix() const noexcept { return core_.settings().key_prefix; }

void ownership::give_back(time_point until, bool synced)
{
    synced_ = synced;
    server_until_ = until;
    endless_ = how().has_queue;
    ask(make_recycled<hold_operation>(core_.shared_from_this(), nullptr));
}

void ownership::enter(std::shared_ptr<hold_operation> who)
{
    auto& hold = *who->hold;
    auto const now = clock::now();
    hold.target = shared_from_this();
    hold.born = now;
    hold.ends = now + hold.lease;
    holds_.push_back(hold);
    ask(std::move(who));
}

void ownership::release(std::shared_ptr<hold_operation> who)
{
    auto const hold = who->hold;
    expire(clock::now());  // look at the clock: after a pause of the process no timer has fired yet
    if (!hold->is_linked()) {
        who->complete(hold->now() == status::lost ? error_code{error::lost} : error_code{});
        return;
    }
    if (!gone_ && !settling_ && listener_ && is_last(*hold) && !is_kept(*hold) &&
        listener_->hand_over(*hold)) {
        who->complete({});
        return;
    }
    remove(*hold, asio::error::operation_aborted);
    if (gone_) {
        who->complete(error::lost);
        if (holds_.empty())
            finish();
        return;
    }
    ask(std::move(who));
}

bool ownership::is_last(hold_state const& hold) const noexcept
{
    return &holds_.front() == &hold && &holds_.back() == &hold;
}

// The field's promised lease is the same, and so are the times of the watchdog.
void ownership::pass_on(hold_state& last, hold_ptr const& next)
{
    who_ = next->who;
    token_ = next->token;
    next->target = shared_from_this();
    next->born = clock::now();
    next->ends = last.ends;
    next->proven = last.proven;
    next->set_valid_until(last.promised_until());
    holds_.push_back(*next);
    if (!renewing_ && renew_at_ == never)
        renew_at_ = clock::now();  // the renewals of the last hold had ended
    remove(last, asio::error::operation_aborted);
}

void ownership::let_go(hold_state& last)
{
    remove(last, asio::error::operation_aborted);
    finish();
}

void ownership::extend(std::shared_ptr<hold_operation> who, milliseconds lease)
{
    auto& hold = *who->hold;
    expire(clock::now());
    if (hold.now() != status::held) {
        who->complete(hold.now() == status::lost ? error::lost : error::not_held);
        return;
    }
    // A shorter lease counts from now on, because the server may set it before its answer comes.
    auto const now = clock::now();
    hold.lease = lease;
    hold.set_valid_until(std::min(hold.promised_until(), decide::valid_until(now, lease)));
    hold.ends = now + lease;
    ask(std::move(who));
    watch();
}

void ownership::abandon_hold(hold_ptr const& hold)
{
    if (!hold->is_linked())
        return;
    release(make_recycled<hold_operation>(core_.shared_from_this(), hold));
}

void ownership::release_all()
{
    auto const self = shared_from_this();
    while (!holds_.empty())
        remove(holds_.front(), error::closed);
    if (gone_)
        finish();
    else if (!releasing_)
        ask(make_recycled<hold_operation>(core_.shared_from_this(), nullptr));
}

void ownership::remove(hold_state& hold, error_code why)
{
    hold.unlink();
    if (is_kept(hold))
        kept_until_ = std::max(kept_until_, hold.born + hold.at_least);
    if (hold.now() == status::held && hold.given)
        core_.events().released(
            name_, std::chrono::duration_cast<microseconds>(clock::now() - hold.born)
        );
    hold.mark_released(why);
    watch();
}

void ownership::lose(hold_state& hold, error_code why)
{
    if (hold.now() != status::held)
        return;
    hold.lose();
    core_.events().lost(name_, why);
    core_.log(log_level::warning, [&] {
        return "hold " + name_ + " (" + core_.field(number_) + "): lost: " +
            (gone_ ? "the server no longer has it (expired, deleted or forced)"
                   : hold.why_unproven(core_.settings().max_hold)) +
            "; stop the work it protects";
    });
}

void ownership::gone(error_code why)
{
    auto const self = shared_from_this();
    gone_ = true;
    forget_renewal();
    for (auto& hold : holds_)
        lose(hold, why);
    watch();
    detach();
}

void ownership::taken_away(time_point sent)
{
    if (begun_ == time_point{})
        return;  // granted to nobody, and perhaps not granted yet: it is still given back
    if (begun_ <= sent)
        gone(error::lost);
    else
        suspect();
}

void ownership::expire(time_point now)
{
    bool const is_due = std::ranges::any_of(holds_, [&](hold_state const& hold) {
        return hold.is_confirmed() && now >= lose_at(hold);
    });
    if (!is_due)
        return;
    auto const self = shared_from_this();
    for (auto& hold : holds_)
        if (hold.is_confirmed() && now >= lose_at(hold))
            lose(hold, error::lost);
    if (!is_held()) {
        forget_renewal();
        if (listener_ && !listener_->keep_lost())
            detach();  // waiters here may try; the server decides when they succeed
    }
    watch();
}

void ownership::detach()
{
    if (auto* const key = std::exchange(listener_, nullptr))
        key->ended(*this);
}

void ownership::finish()
{
    auto const self = shared_from_this();
    forget_renewal();
    if (std::exchange(releasing_, false))
        --core_.count.owed_releases;
    core_.watchdog().forget(*this);
    detach();
    core_.holds().remove(*this);
}

}  // namespace colock
