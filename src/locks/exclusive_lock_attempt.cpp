#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "decide/backoff.hpp"
#include "decide/list_place.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "decide/wait_plan.hpp"
#include "locks/contention_state.hpp"
#include "locks/exclusive_lock.hpp"
#include "locks/poller.hpp"

#include <algorithm>
#include <utility>

namespace colock {

/// One acquire script, with the texts that it refers to.
struct exclusive_lock::attempt {
    attempt(core& owner, exclusive_lock& key, waiter const& head)
        : lease{head.lease}
        , tokens{key.tokens_to_ask()}
        , field{owner.field<recycled_string>(key.number_, key.how().field_end)}
        , lease_text{std::to_string(lease.count())}
        , tokens_text{std::to_string(tokens)}
        , counter{key.counter()}
        , place{key.place_to_ask()}
        , channel{key.how().names_place() ? decide::place_and_channel<recycled_string>(place, key.channel()) : recycled_string{key.channel()}}
        , keys{key.name(), counter}
        , arguments{field, lease_text, tokens_text, channel}
        , call{
              *key.how().acquire,
              key.slot(),
              std::span{keys}.first(key.draws_tokens() ? 2 : 1),
              arguments}
    {
        if (key.draws_tokens())
            call.floor = key.how().has_floor ? link_floor : no_floor;
        head.ask_replicas(call);
        call.synced = key.synced_ = key.synced_ || call.synced;
    }
    attempt(attempt const&) = delete;
    attempt& operator=(attempt const&) = delete;

    milliseconds lease;
    std::uint64_t tokens;
    recycled_string field;
    std::string lease_text, tokens_text, counter;
    std::string_view place;
    recycled_string channel;
    std::string_view keys[2];
    std::string_view arguments[4];
    step call;
};

// Where nothing is heard it does not matter how many others hear.
std::string_view exclusive_lock::channel() const noexcept
{
    bool const hears = contention_ && (contention_->listens || !contention_->turn.channel.empty());
    return hears ? std::string_view{contention_->channel} : std::string_view{};
}

std::string exclusive_lock::counter() const
{
    if (!draws_tokens())
        return {};
    return how().has_floor ? core_.fence_counter(slot())
                           : decide::token_counter(name(), core_.settings().key_prefix);
}

bool exclusive_lock::draws_tokens() const noexcept
{
    return core_.settings().fencing || !how().has_floor;
}

std::uint64_t exclusive_lock::tokens_to_ask()
{
    if (!draws_tokens())
        return 0;
    if (!contention_ || !how().has_floor)
        return 1;
    return contention_->tokens.to_ask(clock::now(), followers());
}

// Each turn of the loop asks the server once for the head of the queue. Before that it waits: for
// this client's own hold, for the turn of others, for the holder's release, or for the end of its
// lease.
strand_task exclusive_lock::contend()
{
    core::activity const contending{core_};
    contending_ = true;
    if (contention_)
        contention_->turns.begin_wait();
    while (!is_empty()) {
        if (ownership_) {
            // Hand-over needs the channel, to notice a forced release. A lock that is being
            // released is not handed over.
            if (core_.settings().max_tenure > milliseconds{0} && ownership_->is_held())
                subscribe();
            co_await wake_;
            continue;
        }
        if (stands_behind(first())) {
            co_await wake_;
            continue;
        }
        if (awaits_turn()) {
            wake_.reset();
            sleep_to_cap();
            co_await wake_;
            get_up();
            continue;
        }
        if (stands_back() && !joins_behind()) {
            sleep_until(contention_->turns.back_until());
            co_await wake_;
            get_up();
            continue;
        }
        // A link does not know when the steps of another link are over.
        if (number_ != 0 && !synced_ && first().replicas != 0 && unclaimed_ > clock::now()) {
            give_back();
            continue;
        }
        if (number_ == 0) {
            number_ = core_.next_number();
            synced_ = false;
        }
        attempt now{core_, *this, first()};
        if (!now.place.empty())
            contention_->place.sent();
        ++first().attempts;
        wake_.reset();
        if (contention_) {
            contention_->heard = never;
            contention_->disturbed = false;
        }
        sending_ = &now.call;
        core_.transport().submit(now.call);
        answer const got = co_await now.call.answered;
        sending_ = nullptr;
        if (judge(now, got) == verdict::sleep) {
            co_await wake_;
            get_up();
        }
    }
    if (unclaimed_ > clock::now())
        give_back();
    else if (!ownership_)
        forget_tenure();
    end_contention();
    number_ = 0;
    contending_ = false;
    forget_if_idle();
}

// The remembered state is kept for a while, for the next waiter.
void exclusive_lock::end_contention()
{
    if (!contention_)
        return;
    auto& r = *contention_;
    r.alarm.clear();
    stop_listening();
    leave_list();
    if (r.remembered > clock::now())
        core_.set_alarm(r.alarm, r.remembered);
    else
        contention_.reset();
}

exclusive_lock::verdict exclusive_lock::judge(attempt const& asked, answer const& got)
{
    auto const may_stand = [this, &asked] {
        // A slow server may have run it just now; and an earlier attempt may have set a longer
        // lease.
        unclaimed_ = std::max(unclaimed_, clock::now() + asked.lease);
        return verdict::again;
    };
    // The first call with this step may have taken the lock before it failed because of another
    // lock.
    if (asked.call.alone && got.what != answer::kind::replied)
        may_stand();
    if (got.what != answer::kind::not_now)
        refusals_ = 0;
    switch (got.what) {
    case answer::kind::withdrawn: return verdict::again;
    case answer::kind::failed: end_waiters(got.ec); return verdict::again;
    case answer::kind::lost: return may_stand();
    case answer::kind::not_now:
        if (is_empty())
            return verdict::again;
        sleep_until(clock::now() + core_.repeat_pause(++refusals_));
        return verdict::sleep;
    case answer::kind::replied: break;
    }
    if (!asked.call.synced)  // otherwise it would measure the replicas' time
        core_.round_trip().note(clock::now() - got.sent);
    auto const read = decide::read_acquire(got.value);
    switch (read.what) {
    case decide::acquire_answer::kind::granted:
        may_stand();
        if (got.unsynced && !is_empty() && first().replicas != 0)
            return on_unsynced(got.unsynced);
        return on_granted(asked, read.last_token, got.sent);
    case decide::acquire_answer::kind::refused: return on_refused(asked, read);
    case decide::acquire_answer::kind::malformed: break;
    }
    end_waiters(error::bad_reply);
    return may_stand();
}

exclusive_lock::verdict exclusive_lock::on_granted(
    attempt const& asked, std::uint64_t token, time_point sent
)
{
    if (contention_)
        contention_->place.granted();
    // If nobody is left, the loop gives the grant back. If the head has left, and the next waiter
    // wants another lease or more replicas, the same field is acquired again, which sets it.
    if (is_empty() || first().lease != asked.lease || first().replicas > asked.call.replicas)
        return verdict::again;
    // Half of its validity is over, so the same field is acquired again, which renews it. If the
    // server or the network is always that late, the grant is given back in between, so that others
    // have a chance.
    if (!decide::is_fresh(clock::now(), sent, asked.lease)) {
        if (std::exchange(was_late_, true))
            give_back();
        return verdict::again;
    }
    was_late_ = false;
    give(token, asked.tokens, sent);
    return verdict::again;
}

// A waiter asks again when the grant has been given back; the wait for the replicas was its pause.
exclusive_lock::verdict exclusive_lock::on_unsynced(error_code why)
{
    give_back();
    if (first().once || why != error::not_replicated)
        dismiss(first(), why);
    return verdict::again;
}

exclusive_lock::verdict exclusive_lock::on_refused(
    attempt const& asked, decide::acquire_answer const& got
)
{
    was_late_ = false;
    number_ = 0;
    unclaimed_ = {};
    forget_tenure();
    auto& r = ensure_contention();
    auto const back_until = r.turns.back_until();
    r.turns.refused();
    r.wakes = got.wakes;
    if (!got.wakes)
        r.turns.passed_over();
    if (!asked.place.empty())
        r.place.answered(got.stands);
    if (got.subscribers > 0)
        r.turns.counted(got.subscribers);
    send_away_who_tries_once();
    if (is_empty())
        return verdict::again;
    if (first().attempts == 1)
        core_.events().waiting(name(), milliseconds{got.pttl});
    if (!how().subscribes) {
        pause_between_tries(got.pttl);
        return verdict::sleep;
    }
    // Messages from before the subscription was live were missed.
    if (hears_anew(asked.place, got.stands))
        return verdict::again;
    // The lock is free for the client that was told. If that one has left, nobody tells.
    if (got.stands && asked.place == decide::list_place::behind)
        sleep_until(back_until);
    else
        sleep_out(got.pttl);
    return verdict::sleep;
}

void exclusive_lock::pause_between_tries(std::int64_t pttl)
{
    auto const& head = first();
    auto const pause = decide::backoff_pause(
        head.pauses.initial, head.pauses.max, head.pauses.factor, head.attempts, core_.jitter()
    );
    bool const is_sooner = pttl >= 0 && pttl < pause.count();
    sleep_until(clock::now() + (is_sooner ? milliseconds{pttl + 1} : pause));
}

// A single try, or a waiter without time left, does not stand back for others.
bool exclusive_lock::stands_back() const noexcept
{
    auto const& head = first();
    auto const until = contention_ ? contention_->turns.back_until() : time_point{};
    return !head.once && clock::now() < until && until < head.deadline;
}

// Sleeps until `cap` at the longest; earlier because of a message, but not past the head's own
// deadline.
void exclusive_lock::sleep_until(time_point cap)
{
    auto& r = ensure_contention();
    r.sleeping = true;
    r.cap = cap;
    auto const until = std::min(r.cap, r.heard);
    if (until <= clock::now() || (r.heard != never && first().deadline <= r.heard))
        wake();
    else
        core_.set_alarm(r.alarm, until);
}

void exclusive_lock::expiring(std::int64_t pttl)
{
    if (!contention_ || !contention_->sleeping)
        return;
    if (pttl == -3)
        contention_->place.gone();
    if (pttl == -1 || pttl == -3)
        wake();  // it can't expire, or is not a lock: the attempt finds out
    else
        sleep_out(pttl);
}

// Sleeps until the holder's lease ends, or to the cap.
void exclusive_lock::sleep_out(std::int64_t pttl)
{
    auto const now = clock::now();
    auto const cap = core_.settings().poll_cap;
    auto const ends = decide::wake_time(now, pttl, cap);
    if (!ends)
        return sleep_to_cap();
    // All others know that moment, too.
    auto const place =
        ensure_contention().turns.others().spread(1, core_.round_trip().least(), core_.jitter());
    sleep_until(std::min(*ends + place, now + cap));
}

// Sleeps with the other keys: one call of the poller serves many.
void exclusive_lock::sleep_to_cap()
{
    auto& r = ensure_contention();
    auto const cap = clock::now() + core_.settings().poll_cap;
    if (r.heard < cap)
        return sleep_until(cap);
    r.sleeping = true;
    r.cap = cap;
    r.alarm.clear();
    if (!r.is_polled())
        core_.poller().add(r);
}

void exclusive_lock::get_up() noexcept
{
    contention_->sleeping = false;
    contention_->leave();
}

void exclusive_lock::on_alarm()
{
    if (contending_)
        wake();
    else
        forget_if_idle();
}

// Gives back a grant, or a possible grant, that nobody wants any more.
void exclusive_lock::give_back()
{
    forget_tenure();
    ownership_ = make_recycled<ownership>(core_, *this, ref(), std::exchange(number_, 0), owner{});
    ownership_->give_back(std::exchange(unclaimed_, {}), synced_);
}

// The next tenure of the key begins from zero.
void exclusive_lock::forget_tenure() noexcept
{
    since_ = {};
    if (contention_)
        contention_->tokens.drop_rest();
}

}  // namespace colock
