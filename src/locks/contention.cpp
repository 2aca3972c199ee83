#include "core/core.hpp"
#include "decide/wait_plan.hpp"
#include "locks/contention.hpp"
#include "redis/transport.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

/// The longest delay for the sake of other clients if there are no tenures to measure it by.
constexpr milliseconds longest_delay{10};

/// For so long, and for so many polls, a client relies on being told.
constexpr milliseconds trusted_time{30'000};
constexpr int trusted_polls = 30;

/// How long the turns of a key are remembered while nobody here wants the key.
constexpr milliseconds memory{100};

milliseconds longest_turn(config const& c)
{
    return c.max_tenure > milliseconds{0} ? c.max_tenure : longest_delay;
}

}  // namespace

contention::contention(
    core& inside,
    keyed_state const& lock,
    protocol const& how,
    event<bool>& wake,
    subscription_manager::listener& hears,
    std::function<void()> on_alarm
)
    : entry{lock.name(), lock.slot()}
    , turns{longest_turn(inside.settings()), inside.settings().poll_cap}
    , list{inside, lock, how.has_list ? &channel_ : nullptr, wake, *this}
    , core_{inside}
    , channel_{how.subscribes ? how.channel(lock.name(), inside.settings().key_prefix) : std::string{}}
    , wake_{wake}
    , hears_{hears}
    , on_alarm_{std::move(on_alarm)}
{}

// ---- The channel of the lock -------------------------------------------------------------------

bool contention::subscribe()
{
    if (channel_.empty() || std::exchange(listens_, true))
        return false;
    is_live = core_.subscriptions().add(channel_, hears_);
    return is_live;
}

void contention::unsubscribe()
{
    if (std::exchange(listens_, false))
        core_.subscriptions().remove(channel_, hears_, !turns.others().is_large());
    is_live = false;
}

bool contention::hears_anew(std::string_view asked, bool stands)
{
    switch (list.refused(asked, stands)) {
    case wait_list::next::sleep: return false;
    case wait_list::next::ask: return true;
    case wait_list::next::list_alone: unsubscribe(); return false;
    case wait_list::next::channel: break;
    }
    return subscribe();
}

bool contention::joins_behind(bool once)
{
    if (list.may_be_used() && list.wakes)
        list.hear();
    else
        subscribe();
    return list.wakes && !place_to_ask(once).empty();
}

// The poll cap counts from now: the message that has come was not lost.
void contention::on_message(time_point deadline)
{
    if (list.wakes && list.place.is_standing())
        return;  // the first of the list has its turn
    heard_ = turns.heard(
        clock::now(),
        deadline,
        {core_.round_trip().usual(), core_.round_trip().least()},
        core_.jitter()
    );
    if (!is_sleeping())
        return;
    get_up();
    sleep_to_cap(deadline);
}

// The client that has its turn asks at once. While others listen to the lock's channel, who have no
// place in the list, it sometimes lets them ask first.
void contention::on_turn(unsigned listening)
{
    if (!is_sleeping())
        return;
    auto const deadline = *deadline_;
    heard_ = turns.told(clock::now(), listening, core_.round_trip().usual());
    get_up();
    sleep_to_cap(deadline);
}

void contention::released(unsigned receivers, bool told)
{
    auto const now = clock::now();
    auto const others = receivers + (told ? 1U : 0U);
    turns.released(now, others, core_.round_trip().usual());
    list.wakes = told;
    if (told)
        list.told_another();
    heard_ = never;  // that message was about an older release
    remembered_ = others != 0 ? now + memory : now;
}

// ---- The sleep of the head ---------------------------------------------------------------------

void contention::sleep_until(time_point cap, time_point deadline)
{
    deadline_ = deadline;
    auto const until = std::min(cap, heard_);
    if (until <= clock::now() || (heard_ != never && deadline <= heard_))
        wake_.set(true);
    else
        set_alarm(until);
}

void contention::sleep_out(std::int64_t pttl, time_point deadline)
{
    auto const now = clock::now();
    auto const cap = core_.poller().interval_of(*this);
    auto const ends = decide::wake_time(now, pttl, cap);
    if (!ends)
        return sleep_to_cap(deadline);
    // All others know that moment, too.
    auto const place = turns.others().spread(1, core_.round_trip().least(), core_.jitter());
    sleep_until(std::min(*ends + place, now + cap), deadline);
}

void contention::sleep_behind(time_point deadline)
{
    sleep_until(clock::now() + std::max(longest_turn(core_.settings()), longest_delay), deadline);
}

void contention::sleep_to_cap(time_point deadline)
{
    auto const cap = clock::now() + core_.settings().poll_cap;
    if (heard_ < cap)
        return sleep_until(cap, deadline);
    deadline_ = deadline;
    alarm_.clear();
    if (!is_polled())
        core_.poller().add(*this);
}

// Where the poller asks rarely, because of the messages, it has to ask more often now.
void contention::on_unheard()
{
    if (!is_polled())
        return;
    entry::leave();
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

std::string contention::list_to_name() const
{
    if (!list.place.may_stand())
        return {};
    // With the entry: after a loss of the list others may have made another one.
    return decide::place_and_channel<std::string>(
        core_.uuid(), decide::wait_list(name(), core_.settings().key_prefix)
    );
}

void contention::expiring(std::int64_t pttl)
{
    if (!is_sleeping())
        return;
    if (pttl == -3)
        list.place.interrupted();  // its entry is lost, or a message is on its way
    if (pttl == -1 || pttl == -3)
        wake_.set(true);  // it can't expire, or is not a lock: the attempt finds out
    else
        sleep_out(pttl, *deadline_);
}

// The holder of that time was to tell the first of the list. If Redisson's clients have taken over
// since, nobody tells: an attempt finds out, and then the client listens to the lock's channel.
void contention::unchanged()
{
    if (!is_sleeping() || !list.wakes || !list.place.is_standing())
        return;
    auto const polls = trusted_polls * core_.poller().interval_of(*this);
    if (clock::now() - asked_ >= std::max(trusted_time, polls))
        wake_.set(true);
}

void contention::begin_attempt() noexcept
{
    asked_ = clock::now();
    heard_ = never;
}

void contention::refused(decide::acquire_answer const& got, bool named) noexcept
{
    turns.refused();
    list.wakes = got.wakes;
    if (!got.wakes)
        turns.passed_over();
    if (named)
        list.place.answered(got.stands, got.is_first, got.subscribers > 0);
    if (got.subscribers > 0)
        turns.counted(got.subscribers);
}

void contention::end()
{
    alarm_.clear();
    unsubscribe();
    list.leave();
}

bool contention::remember()
{
    if (is_remembered())
        set_alarm(remembered_);
    return is_remembered();
}

}  // namespace colock
