// How a grant goes to a waiter, and from one waiter to the next.
#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/handover.hpp"
#include "locks/contention_state.hpp"
#include "locks/exclusive_lock.hpp"
#include "locks/re_entry.hpp"

#include <utility>

namespace colock {

void exclusive_lock::give(std::uint64_t last_token, std::uint64_t tokens, time_point sent)
{
    if (since_ == time_point{})
        since_ = clock::now();
    if (contention_) {
        contention_->tokens.put(clock::now(), last_token, tokens);
        contention_->turns.begin_wait();
    }
    unclaimed_ = {};
    auto const who = take_first();
    auto const taken = make_hold(*who, last_token);
    ownership_ = make_recycled<ownership>(core_, *this, ref(), std::exchange(number_, 0), who->who);
    ownership_->begin(taken, sent, who->lease);
    who->grant(taken);
    admit_same_owner(*who);
    send_away_who_tries_once();
    if (contention_ && contention_->disturbed)
        ownership_->suspect();
}

hold_ptr exclusive_lock::make_hold(waiter const& who, std::uint64_t only_token)
{
    auto taken = who.make_hold();
    if (draws_tokens())
        taken->token = contention_ ? contention_->tokens.take() : only_token;
    return taken;
}

void exclusive_lock::admit_same_owner(waiter const& holder)
{
    if (!holder.shared_owner)
        return;
    for (auto at = queue_.begin(); ownership_ && at != queue_.end();) {
        waiter& other = *at++;
        if (!other.shared_owner || !(other.who == holder.who))
            continue;
        enter(take_out(other));
    }
}

bool exclusive_lock::hand_over(hold_state& last)
{
    if (is_empty() || !may_go_on(*ownership_))  // empty also where the client closes
        return false;
    waiter const& next = first();
    if (next.replicas != 0)
        return false;  // that waiter asks over another link, and with another number
    auto const& r = ensure_contention();
    auto const held = ownership_;
    auto const how =
        decide::handover{
            .now = clock::now(),
            .since = since_,
            .max_tenure = core_.settings().max_tenure,
            .valid_until = last.promised_until(),
            .lease = last.proven,
            .is_alike = last.renewed && next.renewed && last.lease == next.lease,
            .is_undisturbed = r.is_live && !held->is_suspect(),
            .has_token = !draws_tokens() || !r.tokens.empty(),
            .is_quiet = !held->is_renewing()}
            .decide();
    switch (how) {
    case decide::handover_kind::released: return false;
    case decide::handover_kind::by_script:
        number_ = held->number();
        unclaimed_ = held->server_until();
        held->let_go(last);
        return true;
    case decide::handover_kind::at_once: break;
    }
    auto const who = take_first();
    auto const taken = make_hold(*who, 0);
    held->pass_on(last, taken);
    core_.events().handed_over(name());
    who->grant(taken);
    admit_same_owner(*who);
    if (is_empty())  // without waiters nothing stays subscribed
        core_.set_alarm(contention_->alarm, clock::now() + core_.settings().linger);
    return true;
}

void exclusive_lock::re_enter(std::shared_ptr<waiter> const& who)
{
    // Look at the clock: after a pause of the process the timer has not fired yet.
    auto const held = ownership_;
    held->expire(clock::now());
    if (held->is_held())
        enter(who);
    else
        who->fail(error::lost);  // which may destroy this
}

void exclusive_lock::enter(std::shared_ptr<waiter> const& who)
{
    enter_again(who, ownership_, [this](waiter const& entered) { admit_same_owner(entered); });
}

}  // namespace colock
