// The times of an ownership: the promises to its holds, when it is renewed, and when it counts as
// lost.
#include "core/core.hpp"
#include "decide/validity.hpp"
#include "holds/ownership.hpp"
#include "holds/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using status = hold_state::status;

bool ownership::is_renewed(hold_state const& hold) const noexcept
{
    auto const longest = core_.settings().max_hold;
    return hold.renewed && hold.now() == status::held &&
        (!longest || clock::now() - hold.born < *longest);
}

milliseconds ownership::shortest_renewed_lease() const noexcept
{
    auto shortest = milliseconds::max();
    for (auto const& hold : holds_)
        if (is_renewed(hold))
            shortest = std::min(shortest, hold.lease);
    return shortest;
}

time_point ownership::stands_until() const noexcept
{
    auto const other = beside();
    return other ? std::max(server_until_, other->server_until_) : server_until_;
}

milliseconds ownership::promise() const noexcept
{
    // A reader has its own lease, and doesn't shorten the TTL of the hash.
    auto const other = how().has_leases ? nullptr : beside();
    return other ? std::max(promised_here(), other->promised_here()) : promised_here();
}

milliseconds ownership::promised_here() const noexcept
{
    auto longest =
        std::max(milliseconds{1}, std::chrono::ceil<milliseconds>(kept_until_ - clock::now()));
    for (auto const& hold : holds_)
        if (hold.now() == status::held)
            longest = std::max(
                longest,
                is_renewed(hold) ? hold.lease
                                 : std::chrono::ceil<milliseconds>(hold.ends - clock::now())
            );
    return longest;
}

// `set` is the lease that the script of `sent` set; the hold may have been promised more since.
void ownership::confirm(hold_state& hold, time_point sent, milliseconds set) noexcept
{
    auto const lease = std::min(hold.lease, set);
    hold.ends = std::max(hold.ends, sent + lease);
    auto const until = decide::valid_until(sent, lease);
    if (until < hold.promised_until())
        return;
    hold.proven = lease;
    hold.set_valid_until(until);
}

// The margin belongs to the lease that runs; a lease just requested may be much longer.
time_point ownership::lose_at(hold_state const& hold) const noexcept
{
    auto const lease = std::min(hold.lease, hold.proven);
    return hold.promised_until() - decide::loss_margin(lease, core_.settings().loss_margin);
}

void ownership::renew()
{
    renew_at_ = never;
    if (may_renew() && is_to_be_renewed())
        enqueue();
}

void ownership::renew_now()
{
    // A renewal under way is not sent yet, because the loss of the link has ended all sent ones.
    if (may_renew() && !renewing_ && is_held())
        enqueue();
}

void ownership::enqueue()
{
    if (renewal_hook::is_linked())
        return;
    renewing_ = true;
    core_.watchdog().enqueue(*this);
}

// A later event replaces the renewal: a step with another lease, or the loss.
void ownership::forget_renewal() noexcept
{
    renewing_ = false;
    if (renewal_hook::is_linked())
        renewal_hook::unlink();
}

// A message with the grant or right after it usually comes from the release before it. From now on
// each hand-over needs a script. But the renewal that asks the server can wait, and an ownership
// that ends soon never asks.
void ownership::suspect()
{
    auto const now = clock::now();
    auto const asks_at = begun_ + 2 * core_.round_trip().usual();
    suspected_ = now;
    if (now < asks_at && !renewing_) {
        renew_at_ = std::min(renew_at_, asks_at);
        return watch();
    }
    renew_now();
    core_.watchdog().send(core_.transport().lane_of(slot_));
}

bool ownership::is_to_be_renewed() const noexcept
{
    return is_suspect() || shortest_renewed_lease() != milliseconds::max();
}

// A later script has found the field.
void ownership::clear_suspicion(time_point sent) noexcept
{
    if (sent >= suspected_)
        suspected_ = never;
}

// An unanswered step of `settle` sets an older promise, and might run after the renewal. Its answer
// also says whether the field exists.
bool ownership::may_renew() const noexcept
{
    return !gone_ && !releasing_ && !settling_ && !core_.is_stopped();
}

renewable::renewal ownership::begin_renewal() noexcept
{
    ++unanswered_;
    return {++renewal_, promise()};
}

void ownership::write_renewal(renewal_texts& to, renewal const& which) const
{
    to.add_key(name_);
    to.add_argument([this](std::string& text) {
        core_.write_field(text, number_);
        text += how().field_end;
    });
    to.add_argument([&](std::string& text) { decide::write_number(text, which.lease.count()); });
    if (how().has_leases)
        to.add_argument([this](std::string& text) { text += how().leases(name_, prefix()); });
}

bool ownership::renewal_refused(renewal const& which) noexcept
{
    --unanswered_;
    return renewing_ && which.round == renewal_;
}

void ownership::renewal_answered(
    renewal const& which, answer const& got, decide::reply const* reply, double jitter
)
{
    --unanswered_;
    // Look at the clock before the answer: after a pause of the process no timer has fired yet.
    auto const now = clock::now();
    if (got.what == answer::kind::lost)  // it may have run
        server_until_ = std::max(server_until_, now + which.lease);
    expire(now);
    // It was released or lost in the meantime, or a later renewal overtook this one: the answer is
    // out of date.
    if (!renewing_ || releasing_ || which.round != renewal_)
        return;
    renewing_ = false;
    auto const outcome = reply ? decide::read_extend(*reply) : decide::extend_answer::malformed;
    if (outcome == decide::extend_answer::extended)
        renewed(got.sent, which.lease, now, jitter);
    else if (outcome == decide::extend_answer::gone)
        gone(error::lost);
    else
        renewal_failed(
            got.ec ? got.ec
                : reply && reply->what == decide::reply::kind::error
                ? error_code{error::server_refused}
                : error_code{error::bad_reply},
            got.what == answer::kind::not_now
        );
}

void ownership::renewed(time_point sent, milliseconds set, time_point now, double jitter)
{
    failures_ = 0;
    server_until_ = std::max(server_until_, now + set);
    clear_suspicion(sent);
    for (auto& hold : holds_)
        if (is_renewed(hold) && hold.is_confirmed())
            confirm(hold, sent, set);
    auto const shortest = shortest_renewed_lease();
    if (shortest == milliseconds::max())
        return watch();
    auto const lease = std::min(shortest, set);
    renew_at_ = decide::renewal_schedule::renewal_time(sent, lease, jitter);
    watch();
    core_.events().renewed(
        name_, std::chrono::duration_cast<milliseconds>(decide::valid_until(sent, lease) - now)
    );
    if (is_suspect())  // since the renewal was sent
        suspect();
}

void ownership::renewal_failed(error_code why, bool is_busy)
{
    auto const lease = shortest_renewed_lease();
    if (lease != milliseconds::max())
        renew_at_ = decide::renewal_schedule::retry_time(
            clock::now(), lease, failures_++, is_busy, core_.jitter()
        );
    watch();
    core_.events().renew_failed(name_, why);
}

void ownership::watch()
{
    auto first = never;
    for (auto const& hold : holds_)
        if (hold.is_confirmed())
            first = std::min(first, lose_at(hold));
    bool const renew = !gone_ && !releasing_ && !renewing_ && is_to_be_renewed();
    if (first == never)
        core_.watchdog().forget(*this);
    else
        core_.watchdog().watch(*this, renew ? renew_at_ : never, first);
}

}  // namespace colock
