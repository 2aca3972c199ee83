#include "base/recycling.hpp"
#include "decide/fair_wait.hpp"
#include "redis/link_settings.hpp"
#include "service/core.hpp"
#include "service/fair_queue.hpp"
#include "service/re_entry.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace colock {

namespace {

std::string place_of(std::string const& name) { return "fair:" + name; }

}  // namespace

fair_queue::fair_queue(core& inside, std::string name)
    : resident{inside, place_of(name), decide::slot_of(name)}
    , name_{std::move(name)}
    , keys_{name_, core_.settings().key_prefix}
    , channel_{decide::lock_channel(name_, core_.settings().key_prefix)}
    , look_{[this] {
        if (auto* const who = first())
            who->look();
    }}
    , clean_up_{[this] { give_back(spent_, clock::now()); }}
{
    ++core_.count.keys;
}

fair_queue::~fair_queue() { --core_.count.keys; }

fair_queue* fair_queue::find(core& inside, std::string const& name)
{
    return static_cast<fair_queue*>(inside.residents().find(place_of(name)));
}

fair_queue& fair_queue::of(core& inside, std::string const& name)
{
    if (auto* const known = find(inside, name))
        return *known;
    auto made = std::make_shared<fair_queue>(inside, name);
    inside.residents().add(made);
    return *made;
}

void fair_queue::admit(std::shared_ptr<waiter> const& who)
{
    auto const life = shared_from_this();
    who->asked = clock::now();
    if (tenure_ && who->shared_owner && tenure_->who() == who->who && tenure_->is_held()) {
        enter(who);
        return;
    }
    bool const is_taken = tenure_ && tenure_->is_held();
    bool const others_wait = first() && first()->is_placed();
    if (who->once && (is_taken || others_wait)) {
        who->give_up();
        return;
    }
    if (who->wait) {
        who->deadline = who->asked + *who->wait;
        core_.set_alarm(who->limit, who->deadline);
    }
    auto const made = make_recycled<ticket>(*this, who);
    made->place = tickets_.insert(tickets_.end(), made);
    made->start();
}

void fair_queue::look_again(ticket const& who, std::int64_t ask_in)
{
    auto const cap = core_.settings().poll_cap;
    auto const at = decide::look_again(clock::now(), ask_in, cap, core_.dice());
    if (look_.is_set() && look_at_ <= at && first() != &who)
        return;
    look_at_ = at;
    core_.set_alarm(look_, at);
}

// Who tries once does not wait, nor does one that was cancelled and has an answer to come.
ticket* fair_queue::first() const noexcept
{
    auto const at = std::ranges::find_if(tickets_, [](auto const& t) { return t->is_waiting(); });
    return at == tickets_.end() ? nullptr : at->get();
}

void fair_queue::forget(ticket& who)
{
    tickets_.erase(who.place);
    if (tickets_.empty())
        look_.clear();
    else if (!look_.is_set() && is_refusal(core_.transport().down_reason(slot())))
        core_.set_alarm(look_, clock::now());  // each asks for itself, and hears its own error
    else if (!look_.is_set())
        core_.set_alarm(look_, clock::now() + core_.settings().poll_cap);
    leave_if_idle();
}

void fair_queue::leave_if_idle()
{
    if (tickets_.empty() && !tenure_ && leaving_ == 0 && !clean_up_.is_set())
        resident::leave();
}

// ---- What was granted --------------------------------------------------------------------------

void fair_queue::give(
    std::shared_ptr<waiter> const& who, std::uint64_t number, std::uint64_t token, time_point sent
)
{
    // There is one owner at a time: an earlier one of this client's is that no more. Which is the
    // earlier one the server alone knows if the answers have crossed, on two links.
    auto const before = std::exchange(tenure_, nullptr);
    bool const crossed = before && sent < before->begun();
    if (before) {
        ++leaving_;
        if (before->is_held())
            before->taken_away(sent);
    }
    auto const taken =
        make_recycled<hold_state>(core_.shared_from_this(), who->who, who->lease, who->renewed);
    taken->token = token;
    taken->given = true;
    ++core_.count.holds;
    tenure_ =
        make_recycled<tenure>(core_, *this, lock_ref{lock_kind::fair, name_}, number, who->who);
    tenure_->begin(taken, sent, who->lease);
    auto const waited = std::chrono::duration_cast<microseconds>(clock::now() - who->asked);
    core_.events().acquired(name_, waited, who->attempts);
    who->grant(detail::make_hold(taken));
    admit_same_owner(*who);
    if (crossed && tenure_)
        tenure_->doubt();
}

void fair_queue::give_back(std::uint64_t number, time_point until, bool synced)
{
    ++leaving_;
    make_recycled<tenure>(core_, *this, lock_ref{lock_kind::fair, name_}, number, owner{})
        ->give_back(until, synced);
}

// If he is, and nobody comes any more, his place would stay for ever. One more release, of what is
// spent, takes it away once it counts as dead.
void fair_queue::unheard(tenure const& released)
{
    if (core_.refusal())
        return;
    spent_ = released.number();
    core_.set_alarm(clean_up_, clock::now() + decide::ticket_life);
}

void fair_queue::ended(tenure& which)
{
    if (tenure_.get() == &which)
        tenure_.reset();
    else
        --leaving_;
    leave_if_idle();
}

// Nobody may wait for itself: who waits under the owner's name has the lock too, and needs no place
// in the queue.
void fair_queue::admit_same_owner(waiter const& holder)
{
    if (!holder.shared_owner)
        return;
    auto const life = shared_from_this();
    for (auto at = tickets_.begin(); tenure_ && at != tickets_.end();) {
        auto const other = *at++;
        if (other->waits_for(holder.who))
            enter(other->withdraw());
    }
}

void fair_queue::enter(std::shared_ptr<waiter> const& who)
{
    // By the clock, not by whether a timer has fired: after a pause of the process it has not.
    auto const held = tenure_;
    held->expire(clock::now());
    if (!held->is_held())
        return who->fail(error::lost);  // and this may be gone
    enter_again(who, held, [this](waiter const& entered) { admit_same_owner(entered); });
}

// ---- The client --------------------------------------------------------------------------------

void fair_queue::end_waiters(error_code why)
{
    auto const life = shared_from_this();
    clean_up_.clear();
    // From the end: then the server has nobody to move up behind the one that leaves.
    for (auto const& each : std::vector(tickets_.rbegin(), tickets_.rend()))
        each->end(why);
    leave_if_idle();
}

void fair_queue::abandon() noexcept
{
    tenure_.reset();
    for (auto const& each : tickets_)
        each->abandon();
}

}  // namespace colock
