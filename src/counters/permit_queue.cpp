#include "core/core.hpp"
#include "counters/permit_queue.hpp"
#include "decide/outcome.hpp"
#include "decide/wait_plan.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace colock {

namespace {

/// How long the first of the list, at least, lets those ask that the same release may have told.
constexpr clock::duration shortest_pause = milliseconds{1};

}  // namespace

permit_queue::permit_queue(
    core& inside, state_kind kind, std::string name, std::unique_ptr<policy> how
)
    : wait_queue{inside, kind, std::move(name)}
    , contender{inside}
    , policy_{std::move(how)}
    , place_{inside, *this, !policy_->asks_for_all(), wake_, [this] { on_message(); }}
    , sleep_{[this] { wake(); }}
{}

permit_queue::~permit_queue() = default;

void permit_queue::admit(std::shared_ptr<waiter> const& who)
{
    bool const comes_after = who->once && is_asleep() && !is_empty();
    if (comes_after && !policy_->asks_for_all()) {
        who->give_up();
        return;
    }
    bool const first_knows_more = learn_total(*who);
    join(who);
    // Last, because it may end the calls at once, and with the last of them this queue.
    // A call with a limit may end before the message that was lost is made up for.
    bool const needs_answer = policy_->asks_for_all() && (who->once || who->wait);
    if (!is_contending())
        contend<permit_queue&>(std::ref(*this));
    else if (is_asleep() && (needs_answer || first_knows_more))
        wake();
    else if (next_action() == action::hand_out)
        ask_for_next();
}

// The first that has named a limit decides, as at the server; a greater one only if the first call
// wants more than that. True if the first learns it from this call.
bool permit_queue::learn_total(waiter const& from) noexcept
{
    if (is_empty())
        told_total_ = from.total;
    if (is_empty() || total_of_first() != 0)
        return false;
    told_total_ = std::max(told_total_, from.total);
    return total_of_first() != 0;
}

void permit_queue::on_left(waiter&, bool was_first)
{
    if (was_first)
        ask_for_next();
}

// The client decides again at once: a request that is not sent yet is taken back.
void permit_queue::ask_for_next()
{
    if (is_asleep())
        wake();
    else
        sending_.withdraw();
}

void permit_queue::end_waiters(failure why)
{
    auto const life = shared_from_this();
    wait_queue::end_waiters(why);
    ask_for_next();
}

void permit_queue::count_attempt()
{
    for (waiter& who : queue_) {
        ++who.attempts;
        if (!policy_->asks_for_all())
            return;
    }
}

// Try-once callers behind a refused head fail too, because each would need its own request.
void permit_queue::send_away_who_tried_once()
{
    send_away_who_tries_once([this](waiter const& who) {
        return who.attempts != 0 || !policy_->asks_for_all();
    });
}

void permit_queue::on_reached()
{
    if (is_asleep())
        wake();
    else if (is_expired())
        sending_.withdraw();
}

std::string permit_queue::entry() const
{
    return request_.is_listed()
        ? decide::list_entry(core_.field(policy_->number()), policy_->wanted())
        : std::string{};
}

permit_queue::action permit_queue::decide_next()
{
    auto const found = next_action();
    if (found == action::hand_out || !is_expired())
        return found;
    if (policy_->may_be_out_for_good())
        note_unreturned(error::unavailable);
    request_.run_out();
    return next_action();
}

permit_queue::action permit_queue::next_action()
{
    bool const waited_for = !is_empty();
    bool const fits = waited_for && policy_->fits(first(), request_) &&
        (!request_.is_taken() || policy_->asks_for_all() || has_.covers(first().wants));
    return request_.next(waited_for, fits);
}

void permit_queue::note_unreturned(failure why)
{
    std::string_view const until = policy_->may_be_out_for_good()
        ? ", which may be out for good"
        : ", which are out until their leases end";
    core_.note_unreleased("of permits of " + name() + std::string{until}, why);
}

// Those at the server win, and nobody else tells of them.
void permit_queue::tell_others(std::int64_t permits)
{
    auto const here = std::to_string(policy_->total());
    bool const is_sure = kind() == state_kind::permit_semaphore;
    core_.log_once(log_level::warning, "permits of " + name(), [&] {
        return "permits of " + name() + ": this program says " + here + ", but Redis has " +
            (is_sure ? "" : "at least ") + std::to_string(permits) +
            ", which count. Remedy: name the same limit in all programs, or change it once by " +
            (is_sure ? "set_permits(" + here + ')' : "add_permits");
    });
}

/// One script, with the texts that it refers to.
struct permit_queue::attempt : script_call {
    explicit attempt(permit_queue& of) : attempt{of, of.next_action()} {}
    attempt(permit_queue& of, action which)
        : script_call{of.script_for(which), of.slot()}
        , calls{of.core_.last_arrival()}
        , asked_at{of.core_.mailbox().of(of.slot())}
        , terms{
              .owed = which == action::undo,
              .until = of.request_.is_open() ? of.request_.until() : never}
    {
        of.heard_ = never;
        of.place_.begin_attempt();
        of.ask_copies(call, which);
    }

    bool undoes() const noexcept { return terms.owed; }

    std::uint64_t calls;      ///< the last one that it is for
    mailbox::state asked_at;  ///< the mailbox, when it was sent
    reliable::terms terms;
};

script_call::request permit_queue::script_for(action next)
{
    if (next == action::undo)
        return policy_->undo(entry());
    if (next == action::begin)
        policy_->begin(first());
    policy_->set_total(total_of_first());
    count_attempt();
    auto const box = core_.mailbox().of(slot());
    bool const named = !policy_->asks_for_all() && !first().once && box.is_live;
    if (named)
        request_.lists();
    auto since = named ? std::to_string(place_.since()) : std::string{wait_place::none};
    if (first().once || box.is_refused)
        since.clear();
    return policy_->ask({std::move(since), entry()});
}

bool permit_queue::is_wanted()
{
    for (auto next = decide_next(); next != action::none; next = decide_next()) {
        if (next == action::hand_out)
            policy_->hand_out(*this, std::exchange(request_, {}).sent());
        else if (next == action::undo && policy_->asks_for_all())
            request_.close();  // it has taken nothing
        else
            return true;
    }
    return false;
}

bool permit_queue::judge(attempt const& asked, answer& got)
{
    if (!asked.undoes())
        return conclude_request(asked, got);
    if (got.unsynced == error::not_replicated)
        got.what = answer::kind::not_now;  // it finds nothing next time, and asks the copies
    return conclude_undo(asked, got);
}

// A latch gives nothing that copies could have. They may have the permits that an undo gives
// back, and a repeat may find its work done.
void permit_queue::ask_copies(step& call, action which) const
{
    if (policy_->asks_for_all())
        return;
    if (which == action::undo && !request_.wanted().is_none())
        core_.ask_copies(call, request_.wanted(), core_.settings().lease);
    else if (which != action::undo)
        first().ask_copies(call);
    call.repeats = which != action::begin;
}

void permit_queue::end()
{
    place_.over();
    contending_ = false;
    keyed_state::unregister();
}

bool permit_queue::conclude_request(attempt const& asked, answer const& got)
{
    auto const& wanted = asked.call.wants;
    auto const read = policy_->read(got.value);
    auto const is = decide::judge(got, read);
    note_answer(is, got, wanted);
    request_.want(wanted);
    has_ = got.unsynced ? decide::copies{} : wanted;
    replicas_ = got.replicas;
    if (got.what == answer::kind::replied && read.permits)
        tell_others(*read.permits);
    if (is.may_stand)
        request_.may_stand(is, got.sent, policy_->open_until(request_, got.sent));
    switch (is.what) {
    case decide::outcome::kind::withdrawn:
    case decide::outcome::kind::pause:
    case decide::outcome::kind::lost: break;
    case decide::outcome::kind::failed: end_arrived(asked.calls, is.why); break;
    case decide::outcome::kind::unsynced:
        place_.over();
        request_.undo_lost();  // it is given back first; the wait for the copies was the pause
        if (!is_empty() && (first().once || is.why != error::not_replicated))
            dismiss(first(), is.why);
        break;
    case decide::outcome::kind::granted: place_.over(); break;
    case decide::outcome::kind::refused:
        request_.refused(policy_->may_be_out_for_good());
        if (request_.is_open())  // it has not run until now
            request_.may_stand_until(policy_->open_until({}, got.sent));
        return on_refused(asked, read);
    }
    return false;
}

bool permit_queue::conclude_undo(attempt const& asked, answer const& got)
{
    // The undo stays due across a stop of the client, which may run again, and while the server
    // refuses the connection or the script. Nobody waits for that: those behind it get the error.
    bool const is_just_a_place = !request_.is_open();
    switch (got.what) {
    case answer::kind::lost: request_.undo_lost(); break;
    case answer::kind::withdrawn:
    case answer::kind::not_now: break;
    case answer::kind::failed:
        if (got.ec == error::closed && is_unsent(got))
            break;
        if (is_just_a_place && core_.refusal()) {
            request_.close();
            break;
        }
        if (is_unsent(got) || got.passing) {
            end_arrived(asked.calls, got.ec);
            return core_.is_stopped();  // then until it runs again and reaches the server
        }
        if (!is_just_a_place)
            note_unreturned(why_unanswered(got, core_.is_stopped()));
        [[fallthrough]];
    case answer::kind::replied: request_.close();
    }
    return false;
}

bool permit_queue::on_refused(attempt const& asked, decide::acquire_answer const& refused)
{
    // The refusal is about the caller that it was requested for. A caller that has become the first
    // since may want less, and a common request may have changed since: then ask again.
    bool const for_all = policy_->asks_for_all();
    if (!for_all && !is_empty() && first().attempts == 0)
        return false;
    send_away_who_tried_once();
    if (is_empty() || (for_all ? queue_.back() : first()).attempts == 0)
        return false;
    if (first().attempts == 1)
        first().tell_waiting(milliseconds{refused.pttl});
    if (refused.is_absent && policy_->total() == 0 && total_of_first() != 0)
        return false;  // it has been said since
    if (refused.is_absent)
        tell_absent();
    else
        is_told_absent_ = false;
    if (place_.refused(refused, asked.asked_at, [this] { return policy_->channel(); }))
        return false;
    std::optional<milliseconds> left;
    if (refused.pttl >= 0)
        left = milliseconds{refused.pttl};
    auto const cap = core_.settings().poll_cap;
    auto const longest = place_.stands() ? std::min(cap, decide::longest_unkept) : cap;
    auto const pause = decide::poll_pause(left, longest, core_.jitter());
    sleep_until(std::min(clock::now() + pause, heard_));
    return true;
}

void permit_queue::sleep_until(time_point when)
{
    if (when <= clock::now())
        wake();
    else
        core_.set_alarm(sleep_, when);
}

// The first of the list is alone with the message. If it is from a client that knows the list,
// others may have been told whose turn it is, and ask first: an attempt in vain would tell even
// more. Many messages do not put the attempt off.
void permit_queue::on_message()
{
    auto const pause = std::max<clock::duration>(core_.round_trip().least(), shortest_pause);
    heard_ = std::min(heard_, clock::now() + (place_.stands() ? pause : clock::duration{}));
    if (is_asleep() && !sleep_.is_due_by(heard_))
        sleep_until(heard_);
}

}  // namespace colock
