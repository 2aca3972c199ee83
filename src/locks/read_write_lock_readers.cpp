#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "locks/re_entry.hpp"
#include "locks/read_write_lock.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock {

readers::readers(core& inside, lock_traits const& how, std::string name)
    : wait_queue{inside, state_of(lock_kind::read), std::move(name)}
    , how_{how}
    , sleep_{[this] { ask_again(); }}
    , look_{[this] { look(); }}
{}

readers::~readers() = default;

std::shared_ptr<readers> readers::find(core& inside, std::string_view name)
{
    auto* const found =
        static_cast<readers*>(inside.keyed_states().find(state_of(lock_kind::read), name));
    return found ? std::static_pointer_cast<readers>(found->shared_from_this()) : nullptr;
}

writers* readers::beside() const noexcept { return writers::find(core_, name()); }

ownership* readers::written() const noexcept
{
    auto const* const w = beside();
    return w ? w->held() : nullptr;
}

// Writers of this client, and those who keep them out, keep readers out as well.
bool readers::is_taken() const noexcept
{
    auto const* const w = beside();
    return wait_queue::is_taken() || (w && w->exclusive_lock::is_taken());
}

std::shared_ptr<ownership> readers::reading(owner const& who) const noexcept
{
    for (auto const& [number, held] : ownerships_)
        if (held->who() == who && held->is_held())
            return held;
    return {};
}

// ---- The queue ---------------------------------------------------------------------------------

void readers::admit(std::shared_ptr<waiter> const& who)
{
    auto const life = shared_from_this();
    if (may_enter(*who)) {
        enter(who);
        return unregister_if_idle();
    }
    if (who->once && !may_ask(*who) && !may_wait_once(*who)) {
        who->give_up();
        return unregister_if_idle();
    }
    join(who);
    if (may_ask(*who))
        asker::begin(*this, who);
    else
        stay_behind();
}

// A sent request is given back if it is granted.
void readers::on_left(waiter& who, bool)
{
    if (who.asking)
        static_cast<asker*>(who.asking)->withdraw();
}

bool readers::is_reading() const noexcept
{
    return std::ranges::any_of(ownerships_, [](auto const& each) {
        return each.second->is_held();
    });
}

// No owner may wait for itself: an owner that reads or writes has the lock.
bool readers::may_enter(waiter const& who) const noexcept
{
    if (!who.shared_owner)
        return false;
    if (reading(who.who))
        return true;
    if (!is_written_by(who))
        return false;
    auto const* const before = with_number(written()->number());
    return !before || !before->is_settling();  // in or out
}

bool readers::is_written_by(waiter const& who) const noexcept
{
    auto const* const writing = written();
    return who.shared_owner && writing && writing->who() == who.who && writing->is_held();
}

bool readers::is_asking_for_owner_of(waiter const& who) const noexcept
{
    return who.shared_owner &&
        std::ranges::any_of(askers_, [&](auto const& a) { return a.is_for_owner_of(who); });
}

void readers::enter(std::shared_ptr<waiter> const& who)
{
    auto held = reading(who->who);
    auto* const writing = written();
    (held ? *held : *writing).expire(clock::now());
    if (!(held ? *held : *writing).is_held())
        return who->fail(error::lost);
    if (!held && writing->stays_taken())  // the reader would renew what is kept
        return who->fail(error::invalid_argument);
    if (!held) {
        // It takes over the field of a lost ownership.
        if (auto const lost = ownerships_.extract(writing->number()))
            lost.mapped()->gone(error::lost);
        held = make_recycled<ownership>(core_, this, how_, name(), writing->number(), who->who);
        held->begin_beside(*writing);
        ownerships_.emplace(held->number(), held);
    }
    enter_again(who, held, [this](waiter const&) { look_again(); });
}

// While this client has a writer, or a waiting writer that came first, no reader asks. While
// another client writes, one reader asks at a time.
bool readers::may_ask(waiter const& who) const
{
    auto const* const w = beside();
    if ((w && (w->held() || w->has_one_before(who))) || is_asking_for_owner_of(who))
        return false;
    bool const is_first = is_empty() || &first() == &who;
    return !closed_ || (!sleep_.is_set() && is_first && askers_.empty());
}

void readers::stay_behind()
{
    auto* const w = beside();
    if (w && w->held())
        note_taken();  // also when it has left, as long as no answer says otherwise
    else if (w && !is_closed())
        w->let_pass_in_time();
}

// Gives all readers their turn that may have it now, in the order of their arrival.
void readers::look()
{
    auto const life = shared_from_this();
    std::vector<std::shared_ptr<waiter>> waiting;
    for (auto const& who : queue_)
        if (!who.asking)
            waiting.push_back(who.queued);
    for (auto const& who : waiting) {
        if (who->queue != this)
            continue;
        if (who->shared_owner && !who->re_entrant && reading(who->who)) {
            dismiss(*who, error::would_deadlock);
        } else if (may_enter(*who)) {
            take_out(*who);
            enter(who);
        } else if (may_ask(*who)) {
            asker::begin(*this, who);
        } else if (who->once && !may_wait_once(*who)) {
            dismiss(*who, {});
        } else {
            stay_behind();
        }
    }
    if (auto* const w = beside())
        w->look_again();
    unregister_if_idle();
}

void readers::unregister_if_idle()
{
    if (!is_empty())
        return;
    sleep_.clear();
    closed_ = false;
    if (!channel_.empty())
        core_.subscriptions().remove(std::exchange(channel_, {}), *this);
    if (askers_.empty() && ownerships_.empty())
        keyed_state::unregister();
}

// ---- Ownerships --------------------------------------------------------------------------------

void readers::ended(ownership& which)
{
    auto const number = which.number();
    auto const at = ownerships_.find(number);
    if (at == ownerships_.end() || at->second.get() != &which)
        return;
    auto const life = std::move(at->second);
    ownerships_.erase(at);
    auto* const writing = written();
    if (writing && writing->number() == number) {
        if (which.is_gone())
            writing->suspect();
        else
            writing->set_lease_again();
    }
    look_again();
}

void readers::taken_away(time_point sent)
{
    auto const life = shared_from_this();
    for (auto const& [number, held] : std::unordered_map{ownerships_})
        held->taken_away(sent);  // which may end it
}

// ---- The channel -------------------------------------------------------------------------------

void readers::subscribe()
{
    if (!channel_.empty())
        return;
    channel_ = decide::read_write_channel(name(), core_.settings().key_prefix);
    if (core_.subscriptions().add(channel_, *this))
        ask_again();  // what was published before is missed
}

// Invalidates refusals that are under way; the first waiting reader asks again.
void readers::ask_again()
{
    ++news_;
    sleep_.clear();
    look_again();
}

// As far as the client knows, nobody writes any more. An answer under way may say otherwise, but
// may be older.
void readers::on_message(std::string_view)
{
    ++news_;
    closed_ = false;
    look_again();
}

}  // namespace colock
