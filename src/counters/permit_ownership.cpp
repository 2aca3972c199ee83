#include "base/recycling.hpp"
#include "core/core.hpp"
#include "counters/permit_ownership.hpp"
#include "decide/names.hpp"
#include "decide/renewal_schedule.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using status = hold_state::status;

permit_ownership::permit_ownership(core& inside, std::string semaphore, std::string id)
    : keyed_state{inside, state_kind::permit, std::move(id), decide::slot_of(semaphore)}
    , semaphore_{std::move(semaphore)}
    , leases_{decide::permit_leases(semaphore_, core_.settings().key_prefix)}
    , renewal_{[this] {
        due_ = true;
        ask();
    }}
    , loss_{[this] { expire(clock::now()); }}
    , give_up_{[this] {
        if (sending_ && core_.transport().withdraw(*sending_))
            sending_->answered.set({});
    }}
{}

std::string permit_ownership::shown_name() const
{
    return semaphore_.substr(core_.settings().key_prefix.size());
}

permit_ownership::~permit_ownership() = default;

void permit_ownership::begin(hold_ptr const& hold, time_point sent)
{
    hold_.push_back(*hold);
    hold->target = shared_from_this();
    hold->born = clock::now();
    confirm(sent, hold->lease);
    if (hold->renewed)
        plan_renewal(decide::renewal_schedule::renewal_time(sent, hold->lease, core_.jitter()));
}

// ---- What is wanted ----------------------------------------------------------------------------

void permit_ownership::release(std::shared_ptr<hold_operation> who)
{
    expire(clock::now());  // look at the clock: after a pause of the process no timer has fired yet
    bool const was_lost = who->hold->now() == status::lost;
    if (hold_.empty()) {
        who->complete(was_lost ? error_code{error::lost} : error_code{});
        return;
    }
    if (who->done)
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    asked_.push_back(std::move(who));  // first: the end of the hold may go on with it
    end_hold(asio::error::operation_aborted);
    ask();
}

void permit_ownership::extend(std::shared_ptr<hold_operation> who, milliseconds lease)
{
    auto const now = clock::now();
    expire(now);
    if (!is_held()) {
        who->complete(who->hold->now() == status::lost ? error::lost : error::not_held);
        return;
    }
    // A shorter lease counts from now on, because the server may set it before its answer comes.
    auto& hold = hold_.front();
    hold.lease = lease;
    hold.set_valid_until(std::min(hold.promised_until(), decide::valid_until(now, lease)));
    hold.ends = now + lease;
    watch();
    core_.set_alarm(who->limit, now + core_.settings().timeout);
    asked_.push_back(std::move(who));
    ask();
}

void permit_ownership::abandon_hold(hold_ptr const& hold)
{
    if (!hold_.empty() && &hold_.front() == hold.get())
        release(make_recycled<hold_operation>(core_.shared_from_this(), hold));
}

void permit_ownership::release_all()
{
    if (hold_.empty())
        return;
    end_hold(error::closed);
    ask();
}

void permit_ownership::on_reached()
{
    if (is_held()) {
        due_ = true;
        ask();
    }
}

void permit_ownership::end_hold(error_code why)
{
    auto& hold = hold_.front();
    hold_.pop_front();
    bool const was_lost = hold.now() == status::lost;
    if (!was_lost)
        core_.events().released(
            semaphore_, std::chrono::duration_cast<microseconds>(clock::now() - hold.born)
        );
    renewal_.clear();
    loss_.clear();
    releasing_ = true;
    ++core_.count.owed_releases;
    hold.mark_released(why);
    // A renewal that is not sent yet would only delay the release.
    if (sending_ && core_.transport().withdraw(*sending_))
        sending_->answered.set({});
}

// ---- The server is brought there ---------------------------------------------------------------

void permit_ownership::ask()
{
    if (!settling_)
        settle(shared_from_this());
}

script_request permit_ownership::next_step(milliseconds lease) const
{
    if (releasing_)
        return {
            &scripts::permit_release,
            {semaphore_, leases_},
            {id(), decide::semaphore_channel(semaphore_, core_.settings().key_prefix)}};
    return {&scripts::permit_extend, {leases_}, {id(), std::to_string(lease.count())}};
}

strand_task permit_ownership::settle([[maybe_unused]] std::shared_ptr<permit_ownership> self)
{
    core::activity const settling{core_};
    settling_ = true;
    bool over = false;
    std::uint32_t refusals = 0;
    while (!over && !gone_ && !core_.is_stopped() && !is_settled()) {
        bool const last = releasing_;
        auto const doing = std::exchange(asked_, {});
        due_ = false;
        auto const lease = promise(clock::now());
        script_call now{next_step(lease), slot()};
        core_.set_alarm(give_up_, server_until_);
        sending_ = &now.call;
        core_.transport().submit(now.call);
        answer const got = co_await now.call.answered;
        sending_ = nullptr;
        give_up_.clear();
        if (!last)
            server_until_ = std::max(server_until_, got.sent + lease);
        expire(clock::now());
        if (may_send_again(got, last)) {
            unsure_ = unsure_ || (last && got.what == answer::kind::lost);
            for (auto const& who : doing)
                who->refused = got.passing ? got.ec : error_code{};
            asked_.insert(asked_.begin(), doing.begin(), doing.end());
            due_ = due_ || doing.empty();
            if (got.what != answer::kind::lost && got.what != answer::kind::withdrawn) {
                core_.rest(pause_, core_.repeat_pause(++refusals));
                co_await pause_.over;
            }
            continue;
        }
        refusals = 0;
        auto const outcome = last ? conclude_release(got) : conclude_extend(got, lease);
        for (auto const& who : doing) {
            bool const was_lost = who->hold && who->hold->now() == status::lost;
            who->complete(was_lost ? error_code{error::lost} : outcome);
        }
        over = last;
    }
    settling_ = false;
    for (auto const& who : std::exchange(asked_, {}))
        who->complete(gone_ ? error::lost : error::closed);
    if (hold_.empty() && (over || gone_ || core_.is_stopped()))
        finish();
}

bool permit_ownership::may_send_again(answer const& got, bool last) const noexcept
{
    if (core_.is_stopped() || clock::now() >= server_until_ || (!releasing_ && !is_held()))
        return false;
    return got.what == answer::kind::lost || got.what == answer::kind::not_now ||
        (releasing_ && (is_unsent(got) || got.what == answer::kind::withdrawn)) ||
        (last && got.passing);
}

error_code permit_ownership::conclude_release(answer const& got)
{
    using kind = decide::release_answer::kind;
    auto read = kind::malformed;
    auto why = error_code{error::bad_reply};
    if (got.what == answer::kind::replied)
        read = decide::read_release(got.value).what;
    else
        why = why_unanswered(got, core_.is_stopped());
    bool const is_over = clock::now() >= server_until_;
    if (read == kind::malformed) {
        if (!is_over)
            core_.note_unreleased(
                "of a permit of " + semaphore_ + ", which is out until its lease ends", why
            );
        return why;
    }
    // If a repeat finds nothing, and nothing else can have removed the field or permit, it finds
    // its own effect.
    bool const released = read == kind::released || (unsure_ && !is_over);
    return released ? error_code{} : error_code{error::lost};
}

error_code permit_ownership::conclude_extend(answer const& got, milliseconds lease)
{
    if (got.what != answer::kind::replied)
        return conclude_failed(why_unanswered(got, core_.is_stopped()));
    switch (decide::read_extend(got.value)) {
    case decide::extend_answer::gone:
        gone_ = true;
        lose(error::lost);
        return error::lost;
    case decide::extend_answer::malformed: return conclude_failed(error::bad_reply);
    case decide::extend_answer::extended: break;
    }
    return conclude_renewed(got.sent, lease);
}

error_code permit_ownership::conclude_renewed(time_point sent, milliseconds lease)
{
    if (!is_held())
        return {};
    failures_ = 0;
    confirm(sent, lease);
    auto const now = clock::now();
    if (is_renewed(now)) {
        plan_renewal(decide::renewal_schedule::renewal_time(sent, lease, core_.jitter()));
        core_.events().renewed(
            semaphore_,
            std::chrono::duration_cast<milliseconds>(hold_.front().promised_until() - now)
        );
    }
    return {};
}

error_code permit_ownership::conclude_failed(error_code why)
{
    auto const now = clock::now();
    if (is_renewed(now)) {
        core_.events().renew_failed(semaphore_, why);
        plan_renewal(decide::renewal_schedule::retry_time(
            now, hold_.front().lease, failures_++, false, core_.jitter()
        ));
    }
    return why;
}

void permit_ownership::finish()
{
    if (std::exchange(releasing_, false))
        --core_.count.owed_releases;
    unregister();
}

void permit_ownership::destroy_pending() noexcept
{
    auto const asked = std::exchange(asked_, {});
    if (!hold_.empty())
        auto const waits = std::exchange(hold_.front().loss_waits, {});
}

}  // namespace colock
