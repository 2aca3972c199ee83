#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "decide/wait_plan.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"

#include <charconv>
#include <utility>

namespace colock {

namespace {

constexpr milliseconds short_pause{20};

}  // namespace

/// One acquire script, with the texts that it refers to.
struct contention::attempt {
    attempt(core& owner, contention const& key, std::uint64_t n, milliseconds l)
        : number{n}
        , lease{l}
        , field{owner.uuid() + ":" + std::to_string(number)}
        , lease_text{std::to_string(lease.count())}
        , keys{key.name_, owner.settings().fencing ? decide::fence_counter(key.slot_) : ""}
        , arguments{field, lease_text, owner.settings().fencing ? "1" : "0"}
        , call{
              scripts::acquire,
              key.slot_,
              std::span{keys}.first(owner.settings().fencing ? 2 : 1),
              arguments}
    {
        call.floor = owner.settings().fencing ? link_floor : std::string_view{};
    }
    attempt(attempt const&) = delete;
    attempt& operator=(attempt const&) = delete;

    std::uint64_t number;
    milliseconds lease;
    std::string field, lease_text;
    std::string_view keys[2];
    std::string_view arguments[3];
    step call;
};

contention::contention(core& inside, std::string name)
    : core_{inside}
    , name_{std::move(name)}
    , slot_{decide::slot_of(name_)}
    , sleep_{[this] { wake(); }}
{
    ++core_.count.keys;
}

contention::~contention() { --core_.count.keys; }

void contention::admit(std::shared_ptr<waiter> const& who)
{
    who->asked = clock::now();
    if (tenure_ && who->shared_owner && tenure_->who() == who->who && tenure_->is_held()) {
        re_enter(who);
        return;
    }
    if (who->once && ((tenure_ && tenure_->is_held()) || sleeping_)) {
        who->give_up();
        return;
    }
    who->queue = this;
    who->queued = who;
    queue_.push_back(*who);
    ++core_.count.waiters;
    if (who->wait)
        core_.set_alarm(who->limit, who->asked + *who->wait);
    if (!contending_)
        contend();
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
    if (sleeping_ || (queue_.empty() && tenure_))
        wake();
    else if (queue_.empty() && sending_ && core_.transport().withdraw(*sending_))
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

void contention::ended(tenure& which)
{
    if (tenure_.get() != &which)
        return;
    tenure_.reset();
    if (contending_)
        wake();
    else
        core_.forget_if_idle(*this);
}

void contention::wake() { wake_.set(true); }

// Each turn of the loop asks the server once for the head of the queue, after whatever it had to
// wait for: our own hold, the holder's release, the end of its lease.
sequence contention::contend()
{
    using field = verdict::field;
    contending_ = true;
    std::uint64_t number = 0;  // of this ownership, through all attempts until one is given out
    time_point unclaimed{};    // until then it may stand in Redis, with nobody to hold it
    while (!queue_.empty()) {
        if (tenure_) {
            co_await wake_;
            continue;
        }
        if (number == 0)
            number = core_.next_number();
        attempt now{core_, *this, number, queue_.front().lease};
        ++queue_.front().attempts;
        wake_.reset();
        sending_ = &now.call;
        core_.transport().submit(now.call);
        answer const got = co_await now.call.answered;
        sending_ = nullptr;

        auto const next = judge(now, got);
        if (next.stands == field::given)
            number = 0;
        if (next.stands == field::unclaimed)
            unclaimed = clock::now() + now.lease;  // a slow server has run it just now
        else if (next.stands != field::unchanged)
            unclaimed = {};
        if (next.asleep) {
            sleeping_ = true;
            co_await wake_;
            sleeping_ = false;
            sleep_.clear();
        }
    }
    if (std::exchange(subscribed_, false))
        core_.subscriptions().drop(channel_, *this);
    if (unclaimed > clock::now())
        owe_release(number, unclaimed);
    contending_ = false;
    core_.forget_if_idle(*this);
}

contention::verdict contention::judge(attempt const& asked, answer const& got)
{
    using field = verdict::field;
    switch (got.what) {
    case answer::kind::withdrawn: return {};
    case answer::kind::failed: return on_failed(got.ec);
    case answer::kind::lost: return {field::unclaimed};
    case answer::kind::not_now: return sleep(short_pause, field::unchanged);
    case answer::kind::replied: break;
    }
    auto const read = decide::read_acquire(got.value);
    switch (read.what) {
    case decide::acquire_answer::kind::granted: return on_granted(asked, read.last_token, got.sent);
    case decide::acquire_answer::kind::refused: return on_refused(read.pttl);
    case decide::acquire_answer::kind::malformed: break;
    }
    on_failed(error::bad_reply);
    return {field::unclaimed};
}

contention::verdict contention::on_granted(
    attempt const& asked, std::uint64_t token, time_point sent
)
{
    using field = verdict::field;
    // Nobody is left: it is given back. Or the head has left, and the next wants another lease:
    // the same field again, which sets it.
    if (queue_.empty() || queue_.front().lease != asked.lease)
        return {field::unclaimed};
    // Half of its validity is over: the same field again, which renews it. Where the server or the
    // network is always that late, it is given back in between, so that others have a chance.
    if (!decide::is_fresh(clock::now(), sent, asked.lease)) {
        if (late_++ == 0)
            return {field::unclaimed};
        owe_release(asked.number, sent + asked.lease);
        return {field::given};
    }
    late_ = 0;
    give(asked.number, token, sent);
    return {field::given};
}

contention::verdict contention::on_failed(error_code why)
{
    end_waiters(why);
    return {};
}

void contention::give(std::uint64_t number, std::uint64_t token, time_point sent)
{
    waiter& who = queue_.front();
    auto const self = std::move(who.queued);
    take_out(who);
    auto const taken =
        std::make_shared<hold_state>(core_.shared_from_this(), who.who, who.lease, who.renewed);
    taken->token = token;
    taken->given = true;
    ++core_.count.holds;
    tenure_ = std::make_shared<tenure>(core_, *this, number, who.who);
    tenure_->set_token(token);
    tenure_->begin(taken, sent, who.lease);
    core_.events().acquired(
        name_, std::chrono::duration_cast<microseconds>(clock::now() - who.asked), who.attempts
    );
    who.grant(detail::make_hold(taken));

    send_away_who_tries_once();
    if (!who.shared_owner)
        return;
    for (auto at = queue_.begin(); tenure_ && at != queue_.end();) {
        waiter& other = *at++;
        if (!other.shared_owner || !(other.who == who.who))
            continue;
        auto const entering = std::static_pointer_cast<waiter>(std::move(other.queued));
        take_out(other);
        re_enter(entering);
    }
}

void contention::owe_release(std::uint64_t number, time_point until)
{
    tenure_ = std::make_shared<tenure>(core_, *this, number, owner{});
    tenure_->give_back(until);
}

contention::verdict contention::on_refused(std::int64_t pttl)
{
    using field = verdict::field;
    late_ = 0;
    send_away_who_tries_once();
    if (queue_.empty())
        return {field::absent};
    if (queue_.front().attempts == 1)
        core_.events().waiting(name_, milliseconds{pttl});
    // What was published before the subscription was live is missed: then ask once more.
    if (!subscribed_ && subscribe())
        return {field::absent};
    auto const& settings = core_.settings();
    return sleep(decide::sleep_after_refusal(pttl, settings.poll_cap, core_.dice()), field::absent);
}

bool contention::subscribe()
{
    subscribed_ = true;
    channel_ = decide::lock_channel(name_);
    return core_.subscriptions().add(channel_, *this);
}

contention::verdict contention::sleep(milliseconds longest, verdict::field stands)
{
    core_.set_alarm(sleep_, clock::now() + longest);
    return {stands, true};
}

}  // namespace colock
