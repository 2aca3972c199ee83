#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "holds/ownership.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using status = hold_state::status;

namespace {

void warn_of_copies(server_field const& of, failure why)
{
    of.inside().log(log_level::warning, {"renewal", {}, paced_log::of_locks}, [&] {
        return "hold " + of.description() +
            ": too few copies have its renewal, which so proves nothing: " + why.text() +
            "; it is lost at the end of the lease that they have";
    });
}

}  // namespace

ownership::ownership(
    core& inside,
    ownership_listener* of,
    lock_traits const& how,
    std::string_view name,
    std::uint64_t number,
    owner const& who
)
    : listener_{of}
    , field_{inside, how, name, number}
    , who_{who}
{
    inside.holds().add(*this);
}

// ---- The beginning -----------------------------------------------------------------------------

void ownership::begin(hold_ptr first, decide::proven_grant const& by)
{
    auto const now = clock::now();
    server_.begin(now, now + by.lease);
    sent_ = by.steps;
    token_ = first->token;
    first->target = shared_from_this();
    first->born = now;
    first->confirm(by.sent, by.lease, by.sure, true, by.replicas);
    copies_ |= by.wanted;
    copies_ |= first->wants;
    holds_.add(*first);
    renewal_.plan(inside().watchdog().first_renewal(by.sent, by.sure));
    if (listener_)
        listen();
    watch();
    if (inside().mailbox().take_letter_about(number()))
        suspect();
}

void ownership::begin_beside(ownership& other)
{
    server_.begin(clock::now(), other.server_until());
    if (!other.sent_)
        other.sent_ = make_recycled<decide::lease_steps>();
    sent_ = other.sent_;
    beside_ = other.weak_from_this();
    other.beside_ = weak_from_this();
    listen();
}

void ownership::set_lease_again()
{
    bool const will_renew = holds_.shortest_due(clock::now()) != milliseconds::max();
    if (is_held() && stage_ == stage::standing && !will_renew)
        ask(nullptr);
}

// A place in a queue has no lease: it is released however late.
void ownership::give_back(time_point until, decide::copies const& wanted, bool is_just_a_place)
{
    copies_ = wanted;
    is_place_ = is_just_a_place;
    steps().owes_until(until);
    server_.begin_unwanted(how().has_queue ? never : until);
    ask(nullptr);
}

// ---- What the owners want ----------------------------------------------------------------------

void ownership::enter(std::shared_ptr<hold_operation> who)
{
    auto& hold = *who->hold;
    hold.target = shared_from_this();
    copies_ |= hold.wants;
    holds_.add(hold);
    steps().ask(std::move(who));
}

void ownership::release(std::shared_ptr<hold_operation> who)
{
    auto const hold = who->hold;
    expire(clock::now());  // look at the clock: after a pause of the process no timer has fired yet
    if (!hold->is_linked()) {
        who->complete(hold->current_status() == status::lost ? failure{error::lost} : failure{});
        return;
    }
    bool const is_only = holds_.is_only(*hold);  // else the server has another depth
    server_.stay_taken(holds_.drop_lost_beside(*hold));
    bool const may_go_on = stage_ == stage::standing && !is_settling() && listener_ && is_only &&
        hold->current_status() == status::held && !stays_taken();
    if (may_go_on && listener_->hand_over(*hold)) {
        who->complete({});
        return;
    }
    remove(*hold, asio::error::operation_aborted);
    if (is_gone()) {
        who->complete(error::lost);
        if (holds_.is_empty())
            finish();
        return;
    }
    steps().ask(std::move(who));
}

// The field's promised lease is the same, and so are the times of the watchdog.
void ownership::pass_on(hold_state& last, hold_ptr const& next)
{
    auto const now = clock::now();
    who_ = next->who;
    token_ = next->token;
    next->target = shared_from_this();
    next->born = now;
    next->ends = last.ends;
    next->proven = last.proven;
    next->replicas = last.replicas.load();
    next->set_valid_until(last.promised_until());
    holds_.add(*next);
    if (!awaits_renewal() && renewal_.due_at() == never)
        renewal_.plan(now);  // the renewals of the last hold had ended
    remove(last, asio::error::operation_aborted);
}

failure ownership::give(hold_state& only, claim& to)
{
    auto const now = clock::now();
    expire(now);
    if (only.current_status() != status::held)
        return only.current_status() == status::lost ? error::lost : error::not_held;
    if (!may_move(only))
        return error::invalid_argument;
    to = {
        std::string{field_.kind_word()},
        std::string{field_.given_name()},
        field_.shown_id(),
        token_,
        std::chrono::floor<milliseconds>(only.promised_until() - now)};
    auto const self = shared_from_this();
    let_go(only);
    return {};
}

void ownership::extend(std::shared_ptr<hold_operation> who, milliseconds lease)
{
    auto& hold = *who->hold;
    auto const now = clock::now();
    expire(now);
    if (hold.current_status() != status::held) {
        who->complete(hold.current_status() == status::lost ? error::lost : error::not_held);
        return;
    }
    auto const until = hold.promised_until();
    if (decide::valid_until(now, lease) > until)
        who->wants = hold.wants;  // nobody relies on less, before it has more
    who->lease_before = hold.lease;
    hold.set_valid_until(hold.ask(now, lease, until));
    // Plans by the new lease, although the server may refuse the extension. If nothing is planned,
    // `settled` plans.
    if (hold.renewed && renewal_.due_at() != never) {
        auto const at = decide::renewal_schedule::renewal_time(now, lease, inside().jitter());
        renewal_.plan(std::min(renewal_.due_at(), at));
    }
    who->extends = true;
    steps().ask(std::move(who));
    watch();
}

void ownership::release_all()
{
    auto const self = shared_from_this();
    while (!holds_.is_empty())
        remove(holds_.front(), error::closed);
    if (is_gone())
        finish();
    else if (!is_releasing())
        ask(nullptr);
}

void ownership::remove(hold_state& hold, failure why)
{
    if (hold.stays_taken(clock::now()))
        server_.stay_taken(hold.born + hold.at_least);
    holds_.remove(hold, why, field_);
    watch();
}

// ---- Losses ------------------------------------------------------------------------------------

void ownership::expire(time_point now)
{
    if (now < holds_.lose_at())
        return;
    auto const self = shared_from_this();
    holds_.lose_due(now, field_);
    if (!is_held()) {
        forget_renewal();
        if (listener_ && !listener_->changed())
            detach();  // waiters here may try; the server decides when they succeed
    }
    watch();
}

void ownership::gone(failure why)
{
    auto const self = shared_from_this();
    if (std::exchange(stage_, stage::gone) == stage::releasing)
        --inside().count.owed_releases;
    forget_renewal();
    holds_.lose_all(why, field_);
    watch();
    detach();
}

// Soon after the grant a message usually comes from the release before it. So the renewal that asks
// the server waits for two round trips, and an ownership that ends before that never asks. Until
// the answer each hand-over needs a script.
void ownership::suspect()
{
    auto const now = clock::now();
    auto const asks_at = begun() + 2 * inside().round_trip().usual();
    server_.suspect(now);
    if (now < asks_at && !awaits_renewal()) {
        renewal_.plan(std::min(renewal_.due_at(), asks_at));
        return watch();
    }
    renew_now();
    inside().watchdog().send(inside().transport().lane_of(slot()));
}

// ---- The lease at the server -------------------------------------------------------------------

milliseconds ownership::end_step(
    decide::lease_steps::step const& which, answer const& got, decide::connection_life const& on
)
{
    if (got.sent != time_point{} && got.what != answer::kind::not_now)
        server_.extend(clock::now(), which.lease);  // it may have run, perhaps just now
    auto const proven = sent_->end(which, got, on);
    if (sent_->is_empty() && !beside())
        sent_.reset();
    return proven;
}

// A step that copies lack proves nothing to those who want them, and puts no renewal off.
void ownership::extended(
    answer const& by, milliseconds set, milliseconds sure, hold_operations const& asking
)
{
    auto const now = clock::now();
    expire(now);
    bool const is_covered = by.has.covers(holds_.wants());
    if (is_covered)
        server_.found(by.sent);
    holds_.confirm(by.sent, set, sure, by, asking);
    auto const lease = holds_.shortest_due(now);
    if (is_covered && lease != milliseconds::max()) {
        forget_renewal();
        renewal_.plan(decide::renewal_schedule::renewal_time(by.sent, lease, inside().jitter()));
    }
    watch();
    if (sure < set && is_held() && !is_suspect())
        suspect();  // a step with a shorter lease may run behind this one
}

// ---- Renewals ----------------------------------------------------------------------------------

void ownership::renew_now()
{
    // A renewal under way is not sent yet, because the loss of the link has ended all sent ones.
    if (!may_renew() || renewal_.is_wanted() || !is_held())
        return;
    renewal_.want();
    inside().watchdog().enqueue(*this);
}

std::optional<decide::lease_steps::step> ownership::begin_renewal(script_texts& to)
{
    if (!may_renew() || !(renewal_.is_wanted() || is_to_be_renewed())) {
        renewal_.forget();
        renewal_.plan(never);
        return {};
    }
    if (how().subscribes && !how().is_permit)
        inside().mailbox().open(slot());
    auto const made = begin_step(promise());
    renewal_.begin(made.number);
    field_.write_lease(to, made.lease);
    return made;
}

ownership::times ownership::renewal_answered(
    decide::lease_steps::step const& which,
    answer const& got,
    decide::connection_life const& on,
    decide::reply const* reply,
    double jitter
)
{
    auto const sure = end_step(which, got, on);
    // Look at the clock before the answer: after a pause of the process no timer has fired yet.
    expire(clock::now());
    // Otherwise it was released or lost in the meantime, or a later renewal overtook this one: the
    // answer is out of date.
    if (renewal_.is_current(which.number) && !is_releasing()) {
        using outcome = decide::extend_answer;
        auto const read = reply ? decide::read_extend(*reply) : outcome::malformed;
        bool const refused = reply && reply->what == decide::reply::kind::error;
        if (read == outcome::extended)
            renewed(got, which.lease, sure, jitter);
        else if (read == outcome::gone)
            gone(error::lost);
        else
            renewal_failed(
                got.ec        ? got.ec
                    : refused ? failure{error::server_refused}
                              : failure{error::bad_reply},
                got.what == answer::kind::not_now
            );
    }
    return next_times();
}

// A holder beside a primary that is cut off from its replicas would renew for ever what the next
// primary has given to another one. So a renewal that copies lack proves nothing.
void ownership::renewed(answer const& by, milliseconds set, milliseconds sure, double jitter)
{
    auto const now = clock::now();
    holds_.confirm(by.sent, set, sure, by, {});
    if (!by.has.covers(holds_.wants())) {
        if (by.unsynced)
            warn_of_copies(field_, by.unsynced);
        return renewal_failed(by.unsynced ? by.unsynced : error::not_replicated, false);
    }
    renewal_.succeed();
    server_.found(by.sent);
    if (auto const lease = holds_.shortest_due(now); lease != milliseconds::max()) {
        renewal_.plan(decide::renewal_schedule::renewal_time(by.sent, lease, jitter));
        auto const valid_for =
            std::chrono::duration_cast<milliseconds>(decide::valid_until(by.sent, lease) - now);
        inside().tell(events::renewed{name(), valid_for});
    }
    if (is_suspect())  // since the renewal was sent
        suspect();
}

void ownership::renewal_failed(failure why, bool is_busy)
{
    auto const now = clock::now();
    auto const shortest = holds_.shortest_due(now);
    if (shortest != milliseconds::max())
        renewal_.fail(now, shortest, is_busy, inside().jitter());
    else if (is_suspect())
        renewal_.fail(now, promise(), is_busy, inside().jitter());  // the question stands
    else
        renewal_.forget();
    auto const cause = why.text();
    inside().tell(events::renew_failed{name(), why, cause});
}

ownership::times ownership::next_times() const noexcept
{
    bool const renews = stage_ == stage::standing && !awaits_renewal() && is_to_be_renewed();
    return {renews ? renewal_.due_at() : never, holds_.lose_at()};
}

// ---- The end -----------------------------------------------------------------------------------

void ownership::settled()
{
    if (holds_.is_empty()) {
        if (inside().is_stopped())
            let_run_out();
        finish();
    } else if (!is_gone() && !awaits_renewal()) {
        if (renewal_.due_at() == never)
            renewal_.plan(clock::now());  // a renewal may have come due in the meantime
        watch();
    }
    if (listener_)
        listener_->changed();
    if (is_suspect())
        suspect();
}

void ownership::finish()
{
    auto const self = shared_from_this();
    forget_renewal();
    if (auto const other = beside())
        other->server_.stands(server_until());
    if (is_releasing())
        --inside().count.owed_releases;
    if (!is_gone())
        stage_ = stage::ended;
    inside().watchdog().forget(*this);
    detach();
    inside().holds().remove(*this);
}

}  // namespace colock
