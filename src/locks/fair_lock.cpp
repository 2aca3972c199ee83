#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/fair_wait.hpp"
#include "locks/fair_lock.hpp"
#include "locks/re_entry.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace colock {

fair_lock_state::fair_lock_state(core& inside, std::string of)
    : keyed_state{inside, state_kind::fair, std::move(of)}
    , keys_{name(), core_.settings().key_prefix}
    , channel_{decide::lock_channel(name(), core_.settings().key_prefix)}
    , look_{[this] {
        if (auto* const who = first())
            who->look();
    }}
    , clean_up_{[this] { give_back(spent_, clock::now()); }}
{}

fair_lock_state::~fair_lock_state() = default;

fair_lock_state* fair_lock_state::find(core& inside, std::string const& name)
{
    return static_cast<fair_lock_state*>(inside.keyed_states().find(state_kind::fair, name));
}

fair_lock_state& fair_lock_state::of(core& inside, std::string const& name)
{
    auto const make = [&] { return make_recycled<fair_lock_state>(inside, name); };
    return find_or_make<fair_lock_state>(inside.keyed_states(), state_kind::fair, name, make);
}

void fair_lock_state::admit(std::shared_ptr<waiter> const& who)
{
    auto const life = shared_from_this();
    who->asked = clock::now();
    if (ownership_ && who->shared_owner && ownership_->who() == who->who && ownership_->is_held()) {
        enter(who);
        return;
    }
    bool const is_taken = ownership_ && ownership_->is_held();
    bool const others_wait = first() && first()->has_ticket();
    if (who->once && (is_taken || others_wait)) {
        who->give_up();
        return;
    }
    if (who->wait) {
        who->deadline = who->asked + *who->wait;
        core_.set_alarm(who->limit, who->deadline);
    }
    auto const made = make_recycled<fair_waiter>(*this, who);
    made->position = waiters_.insert(waiters_.end(), made);
    made->start();
}

void fair_lock_state::look_again(fair_waiter const& who, std::int64_t ask_in)
{
    auto const cap = core_.settings().poll_cap;
    auto const at = decide::look_again(clock::now(), ask_in, cap, core_.jitter());
    if (look_.is_set() && look_at_ <= at && first() != &who)
        return;
    look_at_ = at;
    core_.set_alarm(look_, at);
}

// Single tries do not wait, nor do cancelled waiters that only expect an answer.
fair_waiter* fair_lock_state::first() const noexcept
{
    auto const at = std::ranges::find_if(waiters_, [](auto const& t) { return t->is_waiting(); });
    return at == waiters_.end() ? nullptr : at->get();
}

void fair_lock_state::remove(fair_waiter& who)
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

void fair_lock_state::give(
    std::shared_ptr<waiter> const& who, std::uint64_t number, std::uint64_t token, time_point sent
)
{
    // There is one owner at a time, so an earlier ownership of this client is over. If the answers
    // of two links have crossed, only the server knows which one is earlier.
    auto const before = std::exchange(ownership_, nullptr);
    bool const crossed = before && sent < before->begun();
    if (before) {
        ++releasing_;
        if (before->is_held())
            before->taken_away(sent);
    }
    auto const taken =
        make_recycled<hold_state>(core_.shared_from_this(), who->who, who->lease, who->renewed);
    taken->token = token;
    taken->at_least = who->at_least;
    taken->given = true;
    ++core_.count.holds;
    ownership_ =
        make_recycled<ownership>(core_, *this, lock_ref{lock_kind::fair, name()}, number, who->who);
    ownership_->begin(taken, sent, who->lease);
    auto const waited = std::chrono::duration_cast<microseconds>(clock::now() - who->asked);
    core_.events().acquired(name(), waited, who->attempts);
    who->grant(detail::make_hold(taken));
    admit_same_owner(*who);
    if (crossed && ownership_)
        ownership_->suspect();
}

void fair_lock_state::give_back(std::uint64_t number, time_point until, bool synced)
{
    ++releasing_;
    make_recycled<ownership>(core_, *this, lock_ref{lock_kind::fair, name()}, number, owner{})
        ->give_back(until, synced);
}

// The first waiter may be dead. If nobody else comes, its place would stay for ever. So this client
// repeats the release, with the used number, when that place counts as dead; that removes it.
void fair_lock_state::unheard(ownership const& released)
{
    if (core_.refusal())
        return;
    spent_ = released.number();
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

// No owner may wait for itself: waiters with the same owner get the lock too, and need no place in
// the queue.
void fair_lock_state::admit_same_owner(waiter const& holder)
{
    if (!holder.shared_owner)
        return;
    auto const life = shared_from_this();
    for (auto at = waiters_.begin(); ownership_ && at != waiters_.end();) {
        auto const other = *at++;
        if (other->waits_for(holder.who))
            enter(other->detach_waiter());
    }
}

void fair_lock_state::enter(std::shared_ptr<waiter> const& who)
{
    // Look at the clock: after a pause of the process the timer has not fired yet.
    auto const held = ownership_;
    held->expire(clock::now());
    if (!held->is_held())
        return who->fail(error::lost);  // which may destroy this
    enter_again(who, held, [this](waiter const& entered) { admit_same_owner(entered); });
}

// ---- The client --------------------------------------------------------------------------------

void fair_lock_state::end_waiters(error_code why)
{
    auto const life = shared_from_this();
    clean_up_.clear();
    // From the end, so that the server has no waiters to move up behind the one that leaves.
    for (auto const& each : std::vector(waiters_.rbegin(), waiters_.rend()))
        each->stop(why);
    unregister_if_idle();
}

void fair_lock_state::destroy_pending() noexcept
{
    ownership_.reset();
    for (auto const& each : waiters_)
        each->destroy_pending();
}

}  // namespace colock
