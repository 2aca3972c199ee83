#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "core/subscription_manager.hpp"
#include "decide/fair_wait.hpp"
#include "decide/names.hpp"
#include "decide/outcome.hpp"
#include "locks/fair_lock.hpp"
#include "locks/heartbeat.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

namespace colock {

/// One acquire script, with the texts that it refers to. A single try has no life, so it is not
/// queued.
struct fair_lock_state::asker::attempt {
    explicit attempt(asker& of)
        : lease{of.who_->lease}
        , once{of.who_->once}
        , is_fenced{of.core_.settings().fencing}
        , field{of.field()}
        , lease_text{std::to_string(lease.count())}
        , life_text{std::to_string(once ? 0 : decide::ticket_life.count())}
        , counter{of.core_.fence_counter(of.lock_.slot())}
        , keys{of.lock_.name(), of.lock_.keys().queue, of.lock_.keys().timeouts, of.lock_.keys().tickets, counter}
        , arguments{field, lease_text, is_fenced ? "1" : "0", of.lock_.channel(), decide::redisson_fair_wait, life_text}
        , call{
              scripts::fair_acquire,
              of.lock_.slot(),
              std::span{keys}.first(is_fenced ? 5 : 4),
              arguments}
    {
        if (is_fenced)
            call.tokens = clock_tokens;
        of.who_->ask_copies(call);
        call.repeats = of.request_.is_open();
        of.request_.want(call.wants);
        ++of.who_->attempts;
    }
    attempt(attempt const&) = delete;
    attempt& operator=(attempt const&) = delete;

    milliseconds lease;
    bool once, is_fenced;
    std::string field, lease_text, life_text, counter;
    std::string_view keys[5];
    std::string_view arguments[6];
    step call;
    reliable::terms terms{};
};

fair_lock_state::asker::asker(fair_lock_state& of, waiter& who)
    : contender{*who.inside, who.inside->next_number()}
    , core_{*who.inside}
    , lock_{of}
    , who_{&who}
{}

std::string fair_lock_state::asker::field() const { return core_.field(number()); }

unsigned fair_lock_state::asker::slot() const noexcept { return lock_.slot(); }

heartbeat::names fair_lock_state::asker::names() const
{
    return {field(), lock_.name(), lock_.keys(), lock_.shared_from_this()};
}

void fair_lock_state::asker::start() { contend<asker&>(std::ref(*this)); }

void fair_lock_state::asker::end()
{
    give_back();
    lock_.remove(*this);
}

bool fair_lock_state::asker::judge(attempt const& asked, answer const& got)
{
    auto const read = decide::read_acquire(got.value);
    auto const is = decide::judge(got, read, asked.call.alone);
    auto const proven = request_.answered(is, got, asked.lease, asked.call.on, clock::now());
    lock_.note_answer(is, got, asked.call.wants);
    if (is.may_stand)
        may_stand(asked);
    if (got.what == answer::kind::replied)
        asked_ = got.sent;
    switch (is.what) {
    case decide::outcome::kind::withdrawn: return reviving_ && who_;
    case decide::outcome::kind::failed: fail(is.why); break;
    case decide::outcome::kind::lost:  // like a ticket with a place, it is kept alive and revived
        if (who_ && !asked.once)
            keep_ticket(clock::now());
        break;
    case decide::outcome::kind::pause: break;
    case decide::outcome::kind::refused: return on_refused(asked, read.pttl, got.sent);
    case decide::outcome::kind::unsynced:
        if (who_) {
            on_unsynced(is.why);
            break;
        }
        [[fallthrough]];
    case decide::outcome::kind::granted: on_granted(read.last_token, proven); break;
    }
    return false;
}

// A waiter whose grants are always late goes to the end of the queue.
void fair_lock_state::asker::on_granted(std::uint64_t token, decide::proven_grant const& proven)
{
    if (!who_)
        return;
    switch (request_.use_of_grant(clock::now(), proven, clock::resumed())) {
    case decide::open_request::use::ask_again: return;
    case decide::open_request::use::give_back: begin_anew(); return;
    case decide::open_request::use::hand_out: break;
    }
    has_ticket_ = false;
    auto& granted = *who_;
    detach();
    lock_.hand_out(granted, request_.close(), token, proven);
}

// The grant is given back, and the waiter begins at the end of the queue.
void fair_lock_state::asker::on_unsynced(failure why)
{
    if (who_->once || why != error::not_replicated)
        fail(why);
    else
        begin_anew();
}

bool fair_lock_state::asker::on_refused(attempt const& asked, std::int64_t ask_in, time_point sent)
{
    if (asked.once) {
        fail({});
        return false;
    }
    may_stand(asked);
    if (!who_)
        return false;
    if (who_->attempts == 1)
        who_->tell_waiting(milliseconds{ask_in});
    keep_ticket(sent);
    core_.mailbox().open(lock_.slot());
    // Messages from before the subscription was live were missed, so ask once more.
    if (channel_.empty() && subscribe())
        return false;
    lock_.look_again(*this, ask_in);
    return true;
}

// A slow server may have run it just now.
void fair_lock_state::asker::may_stand(attempt const& asked) noexcept
{
    request_.may_stand_until(clock::now() + std::max(asked.lease, decide::ticket_life));
    has_ticket_ = has_ticket_ || !asked.once;
}

void fair_lock_state::asker::keep_ticket(time_point alive_at)
{
    if (!is_linked())
        core_.heartbeats().add(*this, alive_at);
}

void fair_lock_state::asker::begin_revival()
{
    reviving_ = true;
    missed_ = false;
    sending_.withdraw();
}

void fair_lock_state::asker::kept(decide::keep_answer const& got, time_point sent)
{
    bool const has_missed = std::exchange(reviving_, false) && missed_;
    if (has_missed)
        wake_.set(true);                       // also if it is asking now: then once more
    if (!wake_.is_awaited() || sent < asked_)  // a later event is newer
        return;
    if (got.what == decide::keep_answer::kind::waits && got.ask_in != 0 && !has_missed)
        lock_.look_again(*this, got.ask_in);
    else
        wake_.set(true);
}

void fair_lock_state::asker::look()
{
    reviving_ = false;
    if (wake_.is_awaited())
        wake_.set(true);
}

// ---- The caller --------------------------------------------------------------------------------

void fair_lock_state::asker::detach() noexcept
{
    who_ = nullptr;
    if (ticket::is_linked())
        ticket::unlink();
}

void fair_lock_state::asker::fail(failure why)
{
    if (!who_)
        return;
    auto& failed = *who_;
    detach();
    lock_.dismiss(failed, why);
}

// An attempt that is not sent yet is taken back; the answer of a sent one is awaited.
void fair_lock_state::asker::let_go()
{
    detach();
    if (wake_.is_awaited())
        wake_.set(true);
    else
        sending_.withdraw();
}

// ---- What it leaves in Redis -------------------------------------------------------------------

bool fair_lock_state::asker::subscribe()
{
    channel_ = decide::fair_channel(lock_.name(), field(), core_.settings().key_prefix);
    return core_.subscriptions().add(channel_, *this);
}

// Nobody asks over a link that is down. When it is up again, the heartbeat tells what was missed.
void fair_lock_state::asker::on_subscribed()
{
    if (core_.transport().is_up(lock_.slot()))
        wake_.set(true);
}

void fair_lock_state::asker::unsubscribe()
{
    if (!channel_.empty())
        core_.subscriptions().remove(std::exchange(channel_, {}), *this);
}

void fair_lock_state::asker::give_back()
{
    unsubscribe();
    auto const now = clock::now();
    // A place stays until a script removes it, even if it counts as dead.
    if (has_ticket_)
        request_.may_stand_until(now + decide::ticket_life);
    auto const until = request_.until();
    auto const wanted = request_.wanted();
    auto const number = request_.close();
    if (until > now)
        lock_.give_back(number, until, wanted);
    has_ticket_ = false;
}

void fair_lock_state::asker::begin_anew()
{
    give_back();
    request_.begin(core_.next_number());
    lock_.put_last(*this);
    if (ticket::is_linked())
        ticket::unlink();
}

}  // namespace colock
