#include "core/core.hpp"
#include "decide/names.hpp"
#include "decide/wait_plan.hpp"
#include "locks/contention.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

/// How long other clients are remembered while nobody here wants the key.
constexpr milliseconds memory{100};

}  // namespace

contention::contention(
    core& inside,
    keyed_state const& lock,
    lock_traits const& how,
    event<bool>& wake,
    decide::open_request const& asked,
    std::function<void()> on_alarm
)
    : entry{lock.name(), lock.slot()}
    , place{inside, lock, how.has_list, wake, [this] { hear(clock::now()); }}
    , core_{inside}
    , how_{how}
    , wake_{wake}
    , request_{asked}
    , on_alarm_{std::move(on_alarm)}
{}

// ---- Other clients -----------------------------------------------------------------------------

bool contention::refused(decide::acquire_answer const& got, mailbox::state const& asked_at)
{
    if (got.is_foreign)
        courtesy_.met_foreigner(clock::now());
    return place.refused(got, asked_at, [this] { return channel(); });
}

std::string contention::channel() const
{
    return how_.channel(name(), core_.settings().key_prefix);
}

void contention::on_turn(std::uint64_t listening)
{
    if (heard_ != never)
        return;  // it asks by an earlier message, or this is the same letter by the other way
    // This client's own subscription may linger.
    bool const others =
        listening > 1 || (listening == 1 && !core_.subscriptions().is_live(channel()));
    hear(courtesy_.ask_at(clock::now(), others, core_.round_trip().usual()));
}

// The poll cap counts from now: the message that has come was not lost.
void contention::hear(time_point when)
{
    heard_ = std::min(heard_, when);
    if (is_sleeping())
        sleep_to_cap(*deadline_);
}

// A client without a place asks for one, or listens to the lock's channel. One with a place looks
// whether it has missed its turn, and while no letters arrive it sleeps to the poll cap at most.
// One that does not sleep looks at the mailbox before it does.
void contention::on_mailbox()
{
    auto const now = core_.mailbox().of(slot());
    if (!is_sleeping() || !place.take_mailbox_change())
        return;
    if (now.is_live && place.stands()) {
        look_soon();
    } else if (now.is_settled()) {
        wake_.set(true);
    } else if (place.stands() && !alarm_.is_due_by(clock::now() + core_.settings().poll_cap)) {
        sleep_to_cap(*deadline_);
    }
}

void contention::look_soon()
{
    if (is_polled())
        core_.poller().hurry(*this);
    else
        wake_.set(true);
}

void contention::released(unsigned others, bool told)
{
    auto const now = clock::now();
    back_until_ = told ? now : courtesy_.ask_at(now, others != 0, core_.round_trip().usual());
    remembered_ = others != 0 || told ? now + memory : now;
}

// ---- The sleep of the head ---------------------------------------------------------------------

void contention::sleep_until(time_point cap, time_point deadline)
{
    deadline_ = deadline;
    auto const until = std::min(cap, heard_);
    if (until <= clock::now() || (until == heard_ && deadline <= heard_))
        wake_.set(true);
    else
        set_alarm(until);
}

void contention::sleep_out(std::int64_t pttl, time_point deadline)
{
    auto const now = clock::now();
    auto const cap = core_.poller().interval_of(*this);
    auto const ends =
        place.stands() && !place.is_first() ? std::nullopt : decide::wake_time(now, pttl, cap);
    if (ends)
        sleep_until(*ends, deadline);
    else
        sleep_to_cap(deadline);
}

void contention::sleep_to_cap(time_point deadline)
{
    entry::leave();
    if (heard_ != never)
        return sleep_until(heard_, deadline);
    deadline_ = deadline;
    alarm_.clear();
    core_.poller().add(*this);
}

void contention::get_up() noexcept
{
    deadline_.reset();
    entry::leave();
}

void contention::wake()
{
    if (is_sleeping())
        wake_.set(true);
}

auto contention::to_look_for() const -> looked_for
{
    auto const& prefix = core_.settings().key_prefix;
    looked_for words{decide::wait_list(name(), prefix), {}, place.hears()};
    if (place.stands())
        words.entry = core_.field(request_.number());
    return words;
}

void contention::ask_in(std::int64_t ms)
{
    if (!is_sleeping())
        return;
    if (ms <= 0)
        wake_.set(true);
    else
        sleep_until(clock::now() + milliseconds{ms + 1}, *deadline_);
}

void contention::end()
{
    alarm_.clear();
    place.over();
}

bool contention::remember()
{
    if (is_remembered())
        set_alarm(remembered_);
    return is_remembered();
}

}  // namespace colock
