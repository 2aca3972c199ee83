#include "decide/names.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include "service/rivalry.hpp"

#include <iterator>
#include <utility>

namespace colock {

namespace {

/// The longest delay for the sake of others where there are no tenures to measure it by.
constexpr milliseconds longest_delay{10};

/// How long the turns of a key are remembered that nobody here wants just now.
constexpr milliseconds memory{100};

milliseconds longest_turn(config const& c)
{
    return c.max_tenure > milliseconds{0} ? c.max_tenure : longest_delay;
}

}  // namespace

contention::rivalry::rivalry(contention& of, config const& c)
    : sleeper{of.ref(), of.slot_}
    , turns{longest_turn(c), c.poller_gap.value_or(milliseconds{0})}
    , alarm{[&of] { of.on_alarm(); }}
{}

contention::contention(core& inside, lock_ref which)
    : core_{inside}
    , name_{which.name}
    , slot_{decide::slot_of(name_)}
    , kind_{which.kind}
{
    ++core_.count.keys;
}

contention::~contention() { --core_.count.keys; }

bool contention::is_idle() const noexcept
{
    return queue_.empty() && !tenure_ && !contending_ &&
        (!rivals_ || clock::now() >= rivals_->remembered);
}

contention::rivalry& contention::rivals()
{
    if (!rivals_)
        rivals_ = std::make_unique<rivalry>(*this, core_.settings());
    return *rivals_;
}

bool contention::is_sleeping() const noexcept { return rivals_ && rivals_->sleeping; }

void contention::wake_sleeper()
{
    if (is_sleeping())
        wake();
}

// ---- The queue ---------------------------------------------------------------------------------

void contention::admit(std::shared_ptr<waiter> const& who)
{
    who->asked = clock::now();
    who->place = core_.next_place();
    if (tenure_ && who->shared_owner && tenure_->who() == who->who && tenure_->is_held()) {
        re_enter(who);
        return;
    }
    // It may join an attempt that is under way; else the lock is somebody's, or others are first.
    bool const is_taken =
        (tenure_ && tenure_->is_held()) || (contending_ && !sending_) || stands_behind(*who);
    if (who->once && is_taken) {
        who->give_up();
        core_.forget_if_idle(*this);  // made for it, where it stood behind another queue
        return;
    }
    who->queue = this;
    who->queued = who;
    queue_.push_back(*who);
    ++core_.count.waiters;
    if (who->wait) {
        who->deadline = who->asked + *who->wait;
        core_.set_alarm(who->limit, who->deadline);
    }
    if (!contending_)
        contend();
}

void contention::take_out(waiter& who)
{
    queue_.erase(queue_.iterator_to(who));
    --core_.count.waiters;
    who.limit.clear();
    who.queue = nullptr;
    changed();
}

void contention::leave(waiter& who, error_code why)
{
    auto const self = std::move(who.queued);
    bool const was_head = &queue_.front() == &who;
    take_out(who);
    who.fail(why);
    if (!was_head)
        return;
    // The next one is head and tries at once. Nobody left: an attempt not yet sent is taken back,
    // and nothing is subscribed for the sake of a hold of our own.
    if (!sending_)
        wake();
    else if (queue_.empty() && core_.transport().withdraw(*sending_))
        sending_->answered.set({});
}

// It sleeps for nobody in another queue; and what is under way is not asked twice.
void contention::go_on()
{
    if (contending_ && !sending_ && !is_sleeping())
        wake();
}

bool contention::ask_unless_told()
{
    bool const asks = is_sleeping() && !rivals_->is_live;
    if (asks)
        wake();
    return asks;
}

void contention::end_waiters(error_code why)
{
    while (!queue_.empty()) {
        auto const self = std::move(queue_.front().queued);
        waiter& who = queue_.front();
        take_out(who);
        who.fail(why);
    }
    if (sending_ && core_.transport().withdraw(*sending_))
        sending_->answered.set({});
    else
        wake();
}

void contention::forget_turns()
{
    if (rivals_)
        rivals_->remembered = {};
    if (!contending_)
        core_.forget_if_idle(*this);
}

void contention::abandon() noexcept
{
    tenure_.reset();
    while (!queue_.empty()) {
        waiter& who = queue_.front();
        queue_.pop_front();
        who.limit.clear();
        who.queue = nullptr;
        auto const self = std::move(who.queued);
        who.done = {};
    }
}

void contention::send_away_who_tries_once()
{
    for (auto at = queue_.begin(); at != queue_.end();) {
        waiter& who = *at++;
        if (!who.once)
            continue;
        auto const self = std::move(who.queued);
        take_out(who);
        who.give_up();
    }
}

// Those to whom the lock may pass after the head without a script; only as many are counted as
// matter. Where it can't pass so, a block of tokens would be drawn in vain.
std::uint64_t contention::followers() const noexcept
{
    if (core_.settings().max_tenure <= milliseconds{0} || !rivals_ || !rivals_->is_live)
        return 0;
    waiter const& first = queue_.front();
    std::uint64_t found = 0;
    for (auto at = std::next(queue_.begin()); at != queue_.end(); ++at, ++found)
        if (found == decide::token_block::largest_first || !at->may_follow(first))
            break;
    return found;
}

std::uint32_t contention::expect_echo(std::string const& channel)
{
    return core_.subscriptions().expect_echo(channel, *this);
}

void contention::published(unsigned others)
{
    bool const nobody_cares = others == 0 && !rivals_ && !core_.settings().poller_gap;
    if (nobody_cares || core_.refusal())
        return;
    auto const now = clock::now();
    auto& r = rivals();
    r.turns.released(now, others, core_.round_trip());
    r.heard = never;  // it was of an older release
    r.remembered = std::max(others != 0 ? now + memory : now, r.turns.next_gap());
    if (!contending_ && r.remembered > now)
        core_.set_alarm(r.alarm, r.remembered);
}

void contention::ended(tenure& which)
{
    if (tenure_.get() != &which)
        return;
    tenure_.reset();
    changed();
    if (number_ == 0)  // nobody inherits its field
        forget_tenure();
    if (contending_)
        wake();
    else
        core_.forget_if_idle(*this);
}

// ---- The channel -------------------------------------------------------------------------------

void contention::subscribe()
{
    auto& r = rivals();
    if (!r.channel.empty() || !how().subscribes)
        return;
    r.channel = how().channel(name_, core_.settings().key_prefix);
    r.is_live = core_.subscriptions().add(r.channel, *this);
    if (r.is_live && tenure_)
        tenure_->doubt();  // what was published while nobody here listened
}

// What was published before is missed.
void contention::on_subscribed()
{
    rivals().is_live = true;
    rivals().disturbed = true;
    if (tenure_)
        tenure_->doubt();
    else
        wake();
}

void contention::on_interrupted() { rivals().is_live = false; }

void contention::on_message(std::string_view)
{
    if (tenure_) {
        tenure_->doubt();  // only who takes the lock away from us publishes now
        return;
    }
    auto& r = rivals();
    r.disturbed = true;
    r.heard = r.turns.heard(
        clock::now(), head() ? head()->deadline : never, core_.round_trip(), core_.dice()
    );
    if (!r.sleeping)
        return;
    get_up();
    sleep_to_cap();  // anew: the message that has come was not lost
}

}  // namespace colock
