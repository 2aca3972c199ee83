#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/fair_wait.hpp"
#include "locks/fair_lock.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <utility>

namespace colock {

fair_lock_state::fair_lock_state(core& inside, lock_traits const& how, std::string of)
    : one_owner{inside, how, std::move(of)}
    , keys_{name(), core_.settings().key_prefix}
    , channel_{how_.channel(name(), core_.settings().key_prefix)}
    , look_{[this] {
        if (auto* const who = first_to_ask())
            who->look();
    }}
    , clean_up_{[this] { give_back(spent_, clock::now()); }}
{}

fair_lock_state::~fair_lock_state() = default;

void fair_lock_state::admit(std::shared_ptr<waiter> const& who)
{
    auto const life = shared_from_this();
    if (is_owner_back(who))
        return;
    if (who->once && is_taken_for_a_try()) {
        who->give_up();
        return;
    }
    join(who);
    auto const made = make_recycled<asker>(*this, *who);
    who->asking = made.get();
    made->position = waiters_.insert(waiters_.end(), made);
    made->start();
}

fair_lock_state::asker& fair_lock_state::asker_of(waiter const& who) noexcept
{
    return static_cast<asker&>(*who.asking);
}

void fair_lock_state::on_left(waiter& who, bool) { asker_of(who).let_go(); }

void fair_lock_state::look_again(asker const& who, std::int64_t ask_in)
{
    auto const cap = core_.settings().poll_cap;
    auto const at = decide::look_again(clock::now(), ask_in, cap, core_.jitter());
    if (!look_.is_due_by(at) || first_to_ask() == &who)
        core_.set_alarm(look_, at);
}

// Single tries do not wait, nor do cancelled waiters that only expect an answer.
fair_lock_state::asker* fair_lock_state::first_to_ask() const noexcept
{
    auto const at = std::ranges::find_if(waiters_, [](auto const& t) { return t->is_waiting(); });
    return at == waiters_.end() ? nullptr : at->get();
}

bool fair_lock_state::is_taken_for_a_try() const noexcept
{
    if (ownership_ && ownership_->is_held())
        return true;
    auto const* const others = first_to_ask();
    return others && others->has_ticket();
}

void fair_lock_state::put_last(asker const& who) noexcept
{
    waiters_.splice(waiters_.end(), waiters_, who.position);
}

void fair_lock_state::remove(asker& who)
{
    waiters_.erase(who.position);
    if (waiters_.empty())
        look_.clear();
    else if (!look_.is_set() && is_refusal(core_.transport().down_reason(slot())))
        core_.set_alarm(look_, clock::now());  // each asks for itself, and gets its own error
    else if (!look_.is_set())
        core_.set_alarm(look_, clock::now() + core_.settings().poll_cap);
    unregister_if_idle();
}

void fair_lock_state::unregister_if_idle()
{
    if (waiters_.empty() && !ownership_ && releasing_ == 0 && !clean_up_.is_set())
        keyed_state::unregister();
}

// ---- What was granted --------------------------------------------------------------------------

void fair_lock_state::hand_out(
    waiter& waiting, std::uint64_t number, std::uint64_t token, decide::proven_grant const& proven
)
{
    auto const who = take_out(waiting);
    // There is one owner at a time, so an earlier ownership of this client is over. If the answers
    // of two links have crossed, only the server knows which one is earlier.
    auto const before = std::exchange(ownership_, nullptr);
    bool const crossed = before && proven.sent < before->begun();
    if (before) {
        ++releasing_;
        if (before->is_held())
            before->taken_away(proven.sent);
    }
    auto const taken = who->make_hold();
    taken->token = token;
    ownership_ = make_recycled<ownership>(core_, this, how_, name(), number, who->who);
    ownership_->begin(taken, proven);
    who->grant(taken);
    admit_same_owner(*who);
    if (crossed && ownership_)
        ownership_->suspect();
}

void fair_lock_state::give_back(
    std::uint64_t number, time_point until, decide::copies const& wanted
)
{
    ++releasing_;
    make_recycled<ownership>(core_, this, how_, name(), number, owner{})->give_back(until, wanted);
}

// The first waiter may be dead. If nobody else comes, its place would stay for ever. So this client
// repeats the release, with the used number, when that place counts as dead; that removes it.
void fair_lock_state::released(ownership const& which, decide::release_answer const& got, unsigned)
{
    if (got.receivers != got.unheard || core_.refusal())
        return;
    spent_ = which.number();
    core_.set_alarm(clean_up_, clock::now() + decide::ticket_life);
}

void fair_lock_state::ended(ownership& which)
{
    if (ownership_.get() == &which)
        ownership_.reset();
    else
        --releasing_;
    unregister_if_idle();
}

// ---- The client --------------------------------------------------------------------------------

void fair_lock_state::end_waiters(failure why)
{
    auto const life = shared_from_this();
    clean_up_.clear();
    wait_queue::end_waiters(why);
    unregister_if_idle();
}

void fair_lock_state::destroy_pending() noexcept
{
    for (auto const& each : waiters_)
        each->forget_caller();
    one_owner::destroy_pending();
}

}  // namespace colock
