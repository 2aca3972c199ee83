// How a reader asks: one script, until it is answered.
#include "base/recycling.hpp"
#include "core/core.hpp"
#include "decide/outcome.hpp"
#include "decide/wait_plan.hpp"
#include "locks/read_write_lock.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace colock {

readers::attempt::attempt(readers& of, std::shared_ptr<waiter> w)
    : who{std::move(w)}
    , number{of.core_.next_number()}
    , field{of.core_.field<recycled_string>(number, of.how_.field_end)}
    , lease_text{std::to_string(who->lease.count())}
    , prefix{of.how_.leases(of.name(), of.core_.settings().key_prefix)}
    , keys{of.name()}
    , arguments{field, lease_text, prefix}
{
    of.attempts_.push_back(*this);
}

strand_task readers::ask(std::shared_ptr<waiter> who)
{
    core::activity const asking{core_};
    attempt now{*this, std::move(who)};
    for (auto next = verdict::again; next != verdict::over;) {
        if (next == verdict::rest) {
            core_.rest(now.resting, core_.repeat_pause(++now.refusals));
            co_await now.resting.over;
            if (!is_wanted(now))
                break;
        }
        ++now.who->attempts;
        now.news = news_;
        step call{*how_.acquire, slot(), now.keys, now.arguments};
        now.who->ask_replicas(call);
        now.sending = &call;
        core_.transport().submit(call);
        answer const got = co_await call.answered;
        now.sending = nullptr;
        next = judge(now, got, call.alone);
    }
    if (now.grant.stands(clock::now()))
        give_back(now);
    look_again();
}

bool readers::is_wanted(attempt const& asked) const noexcept { return asked.who->queue == this; }

readers::verdict readers::judge(attempt& asked, answer const& got, bool alone)
{
    auto const read = decide::read_acquire(got.value);
    auto const is = decide::judge(got, read, alone);
    if (is.may_stand)
        asked.grant.may_stand(clock::now(), asked.who->lease);
    // With replicas it would be their time.
    if (got.what == answer::kind::replied && asked.who->replicas == 0)
        core_.round_trip().note(clock::now() - got.sent);
    switch (is.what) {
    case decide::outcome::kind::withdrawn: return verdict::over;
    case decide::outcome::kind::failed: return fail(asked, is.why);
    case decide::outcome::kind::lost: return is_wanted(asked) ? verdict::again : verdict::over;
    case decide::outcome::kind::pause: return verdict::rest;
    case decide::outcome::kind::refused: return on_refused(asked, read.pttl);
    case decide::outcome::kind::unsynced:
        if (is_wanted(asked))
            return on_unsynced(asked, is.why);
        [[fallthrough]];
    case decide::outcome::kind::granted: break;
    }
    return on_granted(asked, got.sent);
}

readers::verdict readers::fail(attempt& asked, error_code why)
{
    if (is_wanted(asked))
        dismiss(*asked.who, why);
    return verdict::over;
}

readers::verdict readers::on_granted(attempt& asked, time_point sent)
{
    closed_ = false;
    if (!is_wanted(asked))
        return verdict::over;
    switch (asked.grant.use_of_grant(clock::now(), sent, asked.who->lease)) {
    case decide::possible_grant::use::ask_again: return verdict::again;
    case decide::possible_grant::use::give_back:  // so that writers have a chance
        closed_ = true;
        core_.set_alarm(sleep_, clock::now() + core_.repeat_pause(1));
        return verdict::over;
    case decide::possible_grant::use::give: break;
    }
    asked.grant.is_taken_over();
    give(asked, sent);
    return verdict::over;
}

// The grant is given back; a waiter asks again with the others.
readers::verdict readers::on_unsynced(attempt& asked, error_code why)
{
    return asked.who->once || why != error::not_replicated ? fail(asked, why) : verdict::over;
}

// Somebody writes. But a message since the question may say that the writer has left.
readers::verdict readers::on_refused(attempt& asked, std::int64_t pttl)
{
    asked.grant.refused();
    auto const& who = asked.who;
    bool const is_new = asked.news == news_;
    closed_ = closed_ || is_new;
    if (is_wanted(asked) && who->once)
        dismiss(*who, {});
    if (is_wanted(asked) && who->attempts == 1)
        core_.events().waiting(name(), milliseconds{pttl});
    if (is_wanted(asked) && !is_new)
        return verdict::again;
    if (is_new && !is_empty()) {
        sleep_out(pttl);
        subscribe();
    }
    return verdict::over;
}

void readers::sleep_out(std::int64_t pttl)
{
    auto const now = clock::now();
    auto const cap = core_.settings().poll_cap;
    core_.set_alarm(sleep_, decide::wake_time(now, pttl, cap).value_or(now + cap));
}

void readers::give(attempt const& asked, time_point sent)
{
    auto const who = take_out(*asked.who);
    auto const taken = who->make_hold();
    auto const made = make_recycled<ownership>(core_, *this, ref(), asked.number, who->who);
    ownerships_.emplace(asked.number, made);
    made->begin(taken, sent, who->lease);
    who->grant(taken);
}

// Gives back a grant, or a possible grant, that nobody wants any more.
void readers::give_back(attempt const& asked)
{
    auto const made = make_recycled<ownership>(core_, *this, ref(), asked.number, owner{});
    ownerships_.emplace(asked.number, made);
    made->give_back(asked.grant.until(), asked.who->replicas != 0);
}

readers::attempt* readers::attempt_of(waiter const& who) noexcept
{
    auto const at =
        std::ranges::find_if(attempts_, [&](attempt const& a) { return a.who.get() == &who; });
    return at == attempts_.end() ? nullptr : &*at;
}

bool readers::is_asking_for_owner_of(waiter const& who) const noexcept
{
    return who.shared_owner && std::ranges::any_of(attempts_, [&](attempt const& a) {
               return a.who.get() != &who && a.who->shared_owner && a.who->who == who.who;
           });
}

}  // namespace colock
