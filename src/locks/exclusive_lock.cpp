#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "decide/names.hpp"
#include "locks/contention_state.hpp"
#include "locks/exclusive_lock.hpp"

#include <iterator>
#include <utility>

namespace colock {

namespace {

/// The longest delay for the sake of other clients if there are no tenures to measure it by.
constexpr milliseconds longest_delay{10};

/// How long the turns of a key are remembered while nobody here wants the key.
constexpr milliseconds memory{100};

milliseconds longest_turn(config const& c)
{
    return c.max_tenure > milliseconds{0} ? c.max_tenure : longest_delay;
}

}  // namespace

contention_state::contention_state(exclusive_lock& whose, config const& c)
    : entry{whose.name(), whose.slot()}
    , of{whose}
    , turns{longest_turn(c), c.poller_gap.value_or(milliseconds{0}), c.poll_cap}
    , channel{whose.how().channel(whose.name(), c.key_prefix)}
    , alarm{[this] { of.on_alarm(); }}
{}

void contention_state::wake() { of.wake_if_asleep(); }

void contention_state::expiring(std::int64_t pttl) { of.expiring(pttl); }

exclusive_lock::exclusive_lock(core& inside, protocol const& of_kind, std::string of)
    : wait_queue{inside, state_of(of_kind.kind), std::move(of)}
    , how_{of_kind}
{}

exclusive_lock::~exclusive_lock() = default;

exclusive_lock* exclusive_lock::find(core& inside, lock_kind kind, std::string_view of) noexcept
{
    return static_cast<exclusive_lock*>(inside.keyed_states().find(state_of(kind), of));
}

// Drops it if nothing refers to it any more. May destroy it.
void exclusive_lock::forget_if_idle() noexcept
{
    if (!is_in_use() && (!contention_ || clock::now() >= contention_->remembered))
        unregister();
}

contention_state& exclusive_lock::ensure_contention()
{
    if (!contention_)
        contention_ = std::make_unique<contention_state>(*this, core_.settings());
    return *contention_;
}

bool exclusive_lock::is_sleeping() const noexcept { return contention_ && contention_->sleeping; }

void exclusive_lock::wake_if_asleep()
{
    if (is_sleeping())
        wake();
}

// ---- The queue ---------------------------------------------------------------------------------

void exclusive_lock::admit(std::shared_ptr<waiter> const& who)
{
    arrive(*who);
    if (ownership_ && who->shared_owner && ownership_->who() == who->who && ownership_->is_held()) {
        re_enter(who);
        return;
    }
    // A single try may join an attempt that is not under way yet. Otherwise the lock is taken, or
    // others are first.
    bool const is_taken =
        (ownership_ && ownership_->is_held()) || (contending_ && !sending_) || stands_behind(*who);
    if (who->once && is_taken) {
        who->give_up();
        forget_if_idle();  // made only for this acquire
        return;
    }
    join(who);
    if (!contending_)
        contend();
}

void exclusive_lock::on_left(waiter&, bool was_first)
{
    if (was_first)
        ask_for_next();
}

// The next waiter is head and tries at once. If nobody is left, an attempt that is not sent yet is
// taken back.
void exclusive_lock::ask_for_next()
{
    if (!sending_)
        wake();
    else if (is_empty() && core_.transport().withdraw(*sending_))
        sending_->answered.set({});
}

// Wakes the head only if it waits for another queue: neither an attempt under way nor a sleep until
// a known time needs this.
void exclusive_lock::go_on()
{
    if (contending_ && !sending_ && !is_sleeping())
        wake();
}

bool exclusive_lock::ask_unless_told()
{
    bool const asks = is_sleeping() && !contention_->is_live && !contention_->place.is_standing();
    if (asks)
        wake();
    return asks;
}

void exclusive_lock::end_waiters(error_code why)
{
    auto const life = shared_from_this();
    wait_queue::end_waiters(why);
    if (contending_)
        ask_for_next();
}

void exclusive_lock::forget()
{
    if (!contention_ || contending_)
        return;
    contention_->remembered = {};
    forget_if_idle();
}

void exclusive_lock::destroy_pending() noexcept
{
    ownership_.reset();
    wait_queue::destroy_pending();
}

// How many waiters after the head may get the lock without a script; counts only as many as matter.
// If there can be no such hand-over, a block of tokens would be drawn in vain.
std::uint64_t exclusive_lock::followers() const noexcept
{
    if (core_.settings().max_tenure <= milliseconds{0} || !contention_ || !contention_->is_live)
        return 0;
    waiter const& head = first();
    std::uint64_t found = 0;
    for (auto at = std::next(queue_.begin()); at != queue_.end(); ++at, ++found)
        if (found == decide::token_block::largest_first || !at->may_follow(head))
            break;
    return found;
}

std::uint32_t exclusive_lock::expect_echo(std::string const& channel)
{
    return core_.subscriptions().expect_echo(channel, *this);
}

void exclusive_lock::published(unsigned receivers, bool told)
{
    auto const others = receivers + (told ? 1U : 0U);
    bool const nobody_cares = others == 0 && !contention_ && !core_.settings().poller_gap;
    if (nobody_cares || core_.refusal())
        return;
    auto const now = clock::now();
    auto& r = ensure_contention();
    r.turns.released(now, others, core_.round_trip().usual());
    r.wakes = told;
    r.heard = never;  // that message was about an older release
    r.remembered = std::max(others != 0 ? now + memory : now, r.turns.next_gap());
    if (!contending_ && r.remembered > now)
        core_.set_alarm(r.alarm, r.remembered);
}

void exclusive_lock::taken_away(time_point sent)
{
    if (ownership_)
        ownership_->taken_away(sent);
}

void exclusive_lock::ended(ownership& which)
{
    if (ownership_.get() != &which)
        return;
    ownership_.reset();
    on_queue_changed();
    if (number_ == 0)  // nobody takes over its field
        forget_tenure();
    if (contending_)
        wake();
    else
        forget_if_idle();
}

// ---- The channel -------------------------------------------------------------------------------

void exclusive_lock::subscribe()
{
    auto& r = ensure_contention();
    if (r.listens || !how().subscribes)
        return;
    r.listens = true;
    r.is_live = core_.subscriptions().add(r.channel, *this);
    if (r.is_live && ownership_)
        ownership_->suspect();  // a message may have come while nobody here listened
}

// Messages from before the subscription were missed.
void exclusive_lock::on_subscribed()
{
    ensure_contention().is_live = true;
    ensure_contention().disturbed = true;
    if (ownership_)
        ownership_->suspect();
    else
        wake();
}

void exclusive_lock::on_interrupted() { ensure_contention().is_live = false; }

void exclusive_lock::on_message(std::string_view)
{
    if (ownership_) {
        ownership_->suspect();  // only a client that takes this lock away publishes now
        return;
    }
    auto& r = ensure_contention();
    r.disturbed = true;
    if (r.wakes && r.place.is_standing())
        return;  // the first of the list has its turn
    r.heard = r.turns.heard(
        clock::now(),
        head() ? head()->deadline : never,
        {core_.round_trip().usual(), core_.round_trip().least()},
        core_.jitter()
    );
    if (!r.sleeping)
        return;
    get_up();
    sleep_to_cap();  // from now: the message that has come was not lost
}

}  // namespace colock
