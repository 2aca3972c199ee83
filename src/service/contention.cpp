#include "decide/names.hpp"
#include "decide/succession.hpp"
#include "decide/validity.hpp"
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
    : sleeper{of.name_, of.slot_}
    , turns{longest_turn(c), c.poller_gap.value_or(milliseconds{0})}
    , alarm{[&of] { of.on_alarm(); }}
{}

contention::contention(core& inside, std::string name)
    : core_{inside}
    , name_{std::move(name)}
    , slot_{decide::slot_of(name_)}
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

void contention::wake_sleeper()
{
    if (rivals_ && rivals_->sleeping)
        wake();
}

// ---- The queue
// ---------------------------------------------------------------------------------------

void contention::admit(std::shared_ptr<waiter> const& who)
{
    who->asked = clock::now();
    if (tenure_ && who->shared_owner && tenure_->who() == who->who && tenure_->is_held()) {
        re_enter(who);
        return;
    }
    // It may join an attempt that is under way; else the lock is somebody's, or others are first.
    bool const is_taken = (tenure_ && tenure_->is_held()) || (contending_ && !sending_);
    if (who->once && is_taken) {
        who->give_up();
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

// Somebody waits behind the head.
bool contention::may_hand_over() const noexcept
{
    return core_.settings().max_tenure > milliseconds{0} &&
        std::next(queue_.begin()) != queue_.end();
}

// ---- Giving out
// --------------------------------------------------------------------------------------

void contention::give(std::uint64_t last_token, std::uint64_t tokens, time_point sent)
{
    if (since_ == time_point{})
        since_ = clock::now();
    if (rivals_) {
        rivals_->tokens.put(last_token, tokens);
        rivals_->turns.begin_wait();
    }
    unclaimed_ = {};
    std::shared_ptr<waiter> who;
    auto const taken = take_head(who, last_token);
    tenure_ = std::make_shared<tenure>(core_, *this, std::exchange(number_, 0), who->who);
    tenure_->begin(taken, sent, who->lease);
    announce(*who, taken);
    send_away_who_tries_once();
    admit_same_owner(*who);
}

hold_ptr contention::take_head(std::shared_ptr<waiter>& who, std::uint64_t only_token)
{
    who = std::static_pointer_cast<waiter>(std::move(queue_.front().queued));
    take_out(*who);
    auto taken =
        std::make_shared<hold_state>(core_.shared_from_this(), who->who, who->lease, who->renewed);
    if (core_.settings().fencing)
        taken->token = rivals_ ? rivals_->tokens.take() : only_token;
    taken->given = true;
    ++core_.count.holds;
    return taken;
}

void contention::announce(waiter& who, hold_ptr const& taken)
{
    core_.events().acquired(
        name_, std::chrono::duration_cast<microseconds>(clock::now() - who.asked), who.attempts
    );
    who.grant(detail::make_hold(taken));
}

// Whoever waits under the same owner has the lock too: nobody may wait for itself.
void contention::admit_same_owner(waiter const& holder)
{
    if (!holder.shared_owner)
        return;
    for (auto at = queue_.begin(); tenure_ && at != queue_.end();) {
        waiter& other = *at++;
        if (!other.shared_owner || !(other.who == holder.who))
            continue;
        auto const entering = std::static_pointer_cast<waiter>(std::move(other.queued));
        take_out(other);
        re_enter(entering);
    }
}

bool contention::hand_over(hold_state& last)
{
    if (queue_.empty() || core_.refusal())
        return false;
    waiter const& next = queue_.front();
    auto const& r = rivals();
    auto const held = tenure_;
    auto const how =
        decide::succession{
            .now = clock::now(),
            .since = since_,
            .max_tenure = core_.settings().max_tenure,
            .valid_until = last.promised_until(),
            .lease = last.proven,
            .is_alike = last.renewed && next.renewed && last.lease == next.lease,
            .is_undisturbed = r.is_live && !held->is_doubted(),
            .has_token = !core_.settings().fencing || !r.tokens.empty(),
            .is_quiet = !held->is_renewing()}
            .decide();
    switch (how) {
    case decide::passage::released: return false;
    case decide::passage::by_script:
        number_ = held->number();
        unclaimed_ = held->server_until();
        held->let_go(last);
        return true;
    case decide::passage::at_once: break;
    }
    std::shared_ptr<waiter> who;
    auto const taken = take_head(who, 0);
    held->pass_on(last, taken);
    core_.events().handed_over(name_);
    announce(*who, taken);
    admit_same_owner(*who);
    if (queue_.empty())  // and if nobody comes, nothing stays subscribed
        core_.set_alarm(rivals_->alarm, clock::now() + core_.settings().linger);
    return true;
}

void contention::re_enter(std::shared_ptr<waiter> const& who)
{
    // By the clock, not by whether a timer has fired: after a pause of the process it has not.
    auto const held = tenure_;
    held->expire(clock::now());
    if (!held->is_held()) {
        who->fail(error::lost);
        return;
    }
    auto const taken =
        std::make_shared<hold_state>(core_.shared_from_this(), who->who, who->lease, who->renewed);
    taken->token = held->token();
    auto entering = std::make_shared<change>(core_.shared_from_this(), taken);
    entering->entered = [who, taken, held](error_code ec) {
        auto const margin = decide::loss_margin(taken->lease, who->inside->settings().loss_margin);
        if (!ec && clock::now() >= taken->promised_until() - margin)
            ec = error::lost;  // the answer comes after its own validity
        auto const* const key = who->inside->find_key(who->name);
        if (!ec && (!key || key->held() != held.get()))
            ec = error::lost;  // the ownership was, meanwhile
        if (ec && taken->now() == hold_state::status::released)
            ec = error::closed;
        if (!ec && !who->is_done()) {
            taken->given = true;
            ++who->inside->count.holds;
            who->limit.clear();
            who->grant(detail::make_hold(taken));
            return;
        }
        who->fail(ec);
        held->drop(taken);
    };
    if (who->wait)
        core_.set_alarm(who->limit, who->asked + *who->wait);
    held->enter(std::move(entering));
}

void contention::published(unsigned others)
{
    if (others == 0 && !rivals_ && !core_.settings().poller_gap)
        return;
    auto const now = clock::now();
    auto& r = rivals();
    r.turns.released(now, others, core_.round_trip());
    r.heard = never;  // it was of an older release
    r.remembered = others != 0 ? now + memory : r.turns.back_until();
    if (!contending_ && r.remembered > now)
        core_.set_alarm(r.alarm, r.remembered);
}

void contention::ended(tenure& which)
{
    if (tenure_.get() != &which)
        return;
    tenure_.reset();
    if (number_ == 0) {  // nobody inherits its field
        since_ = {};
        if (rivals_)
            rivals_->tokens.end_tenure();
    }
    if (contending_)
        wake();
    else
        core_.forget_if_idle(*this);
}

// ---- The channel
// -------------------------------------------------------------------------------------

void contention::subscribe()
{
    auto& r = rivals();
    if (!r.channel.empty())
        return;
    r.channel = decide::lock_channel(name_);
    r.is_live = core_.subscriptions().add(r.channel, *this);
}

// What was published before is missed.
void contention::on_subscribed()
{
    rivals().is_live = true;
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
    r.heard = r.turns.heard(clock::now(), core_.round_trip());
    if (r.sleeping)
        sleep_until(r.cap);
}

}  // namespace colock
