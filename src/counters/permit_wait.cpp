#include "core/core.hpp"
#include "counters/permit_wait.hpp"
#include "decide/wait_plan.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace colock {

namespace {

/// How long the first of the list, at least, lets those ask that the same release may have told.
constexpr clock::duration shortest_permit_pause = milliseconds{1};

}  // namespace

permit_wait::permit_wait(
    core& inside,
    keyed_state const& whose,
    event<bool>& wake,
    std::function<void(std::string_view)> on_message
)
    : core_{inside}
    , whose_{whose}
    , wake_{wake}
    , on_message_{std::move(on_message)}
    , others_{inside.settings().poll_cap}
{}

void permit_wait::end()
{
    unsubscribe();
    if (list_)
        list_->leave();
}

// ---- An attempt --------------------------------------------------------------------------------

void permit_wait::stand_for(std::int64_t permits)
{
    permits_ = permits;
    if (list_ && permits != 0)
        list_->stand_for(permits);
}

std::string_view permit_wait::place(bool once)
{
    asked_ = list_ ? list_->to_ask(once, {}) : std::string_view{};
    if (!asked_.empty())
        list_->place.sent();
    return asked_;
}

void permit_wait::granted() noexcept
{
    others_.begin_wait();
    if (list_)
        list_->place.granted();
}

void permit_wait::refused(
    decide::acquire_answer const& got, std::function<std::string()> const& make_channel
)
{
    if (!list_) {
        channel_ = make_channel();
        wait_list::waiting_client& told = *this;
        list_.emplace(core_, whose_, permits_ != 0 ? &channel_ : nullptr, wake_, told);
        stand_for(permits_);
    }
    list_->wakes = got.wakes;
    if (!asked_.empty())
        list_->place.answered(got.stands, false, got.subscribers > 0);
    if (got.subscribers > 0)
        others_.counted(got.subscribers);
}

bool permit_wait::hears_anew(decide::acquire_answer const& got)
{
    switch (list_->refused(asked_, got.stands)) {
    case wait_list::next::sleep: return false;
    case wait_list::next::ask: return true;
    case wait_list::next::list_alone: unsubscribe(); return false;
    case wait_list::next::channel: break;
    }
    // Messages from before the subscription was live were missed.
    return !std::exchange(subscribed_, true) && core_.subscriptions().add(channel_, *this);
}

void permit_wait::unsubscribe()
{
    if (std::exchange(subscribed_, false))
        core_.subscriptions().remove(channel_, *this, !others_.is_large());
}

// ---- The sleep ---------------------------------------------------------------------------------

// All others know when the next lease ends, too.
void permit_wait::expect(std::int64_t in)
{
    until_ = never;
    if (in >= 0 && milliseconds{in} < core_.settings().poll_cap)
        until_ = clock::now() + milliseconds{in} +
            others_.spread(1, core_.round_trip().least(), core_.jitter());
}

time_point permit_wait::next()
{
    auto const now = clock::now();
    std::optional<milliseconds> left;
    if (until_ != never)
        left = std::chrono::ceil<milliseconds>(std::max(until_ - now, clock::duration{}));
    auto const cap = core_.settings().poll_cap;
    bool const stands = list_ && list_->place.may_stand();
    return now +
        decide::poll_pause(
               left, stands ? std::min(cap, decide::longest_unkept) : cap, core_.jitter()
        );
}

// The payload of permits is the number that is available.
void permit_wait::note_message(std::string_view payload, time_point deadline)
{
    bool const stands = list_->place.is_standing();
    if (stands && list_->wakes)
        return;  // it will be told its turn
    std::int64_t room = 0;
    std::from_chars(payload.data(), payload.data() + payload.size(), room);
    auto const now = clock::now();
    auto const least = core_.round_trip().least();
    // The first of the list is alone with the message. If it is from a client that knows the list,
    // others may have been told whose turn it is, and ask first: an attempt in vain would tell even
    // more. Many messages do not put the attempt off.
    auto const delay = stands ? std::max<clock::duration>(least, shortest_permit_pause)
                              : others_.heard(room, least, core_.jitter());
    auto const at = decide::crowd::in_time(now, now + delay, deadline, core_.jitter());
    heard_ = stands ? std::min(heard_, at) : at;
}

}  // namespace colock
