#include "core/core.hpp"
#include "decide/fair_wait.hpp"
#include "locks/fair_lock_state.hpp"
#include "locks/heartbeat.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

namespace {

/// The heartbeat of tickets that are due within this time goes with those that are due now.
constexpr milliseconds coalescing_window{50};

/// Tickets per call: a long call would make the server's other clients wait.
constexpr std::size_t largest_call = 128;

/// Calls under way per lane.
constexpr unsigned most_under_way = 4;

}  // namespace

/// The waiters of one lane, in the order in which their tickets are due.
struct heartbeat::ring {
    ring(heartbeat& whose, unsigned which) : of{whose}, lane{which} {}

    heartbeat& of;
    unsigned lane;
    boost::intrusive::list<heartbeat_hook, boost::intrusive::constant_time_size<false>> due;
    decide::alarm_queue::alarm alarm{[this] { of.run(*this); }};
    unsigned under_way = 0;
};

/// One call, with the texts that it refers to.
struct heartbeat::batch {
    explicit batch(fair_waiters const& some)
    {
        fields.reserve(some.size());  // so that the texts do not move
        for (auto const& t : some) {
            auto const& of = t->lock();
            names.push_back(of.shared_from_this());
            auto const& more = of.keys();
            keys.insert(keys.end(), {of.name(), more.queue, more.timeouts, more.tickets});
            fields.push_back(t->field());
            arguments.insert(
                arguments.end(), {fields.back(), decide::redisson_fair_wait, life_text}
            );
        }
    }

    std::string life_text = std::to_string(decide::ticket_life.count());
    std::vector<std::string> fields;
    std::vector<std::shared_ptr<keyed_state const>> names;  ///< owners of the names in the call
    std::vector<std::string_view> keys, arguments;
};

heartbeat::heartbeat(core& owner) : core_{owner} {}

heartbeat::~heartbeat() = default;

void heartbeat::add(fair_waiter& t, time_point since)
{
    auto const lane = core_.transport().lane_of(t.lock().slot());
    auto& here = rings_[lane];
    if (!here)
        here = std::make_unique<ring>(*this, lane);
    t.due = since + decide::ticket_beat;
    here->due.push_back(t);
    if (!here->alarm.is_set())
        core_.set_alarm(here->alarm, t.due);
}

void heartbeat::stop()
{
    for (auto const& [lane, here] : rings_)
        here->alarm.clear();
}

void heartbeat::revive(slot_filter const& which)
{
    std::vector<ring*> all;  // a copy, because an answer may come at once and add another
    all.reserve(rings_.size());
    for (auto const& [lane, here] : rings_)
        all.push_back(here.get());
    for (auto* here : all)
        revive(*here, which);
}

// However many calls that takes: other scripts on the link would remove tickets that were not kept
// alive in time.
void heartbeat::revive(ring& here, slot_filter const& which)
{
    auto const now = clock::now();
    auto const is_meant = [&](heartbeat_hook const& each) {
        return which(static_cast<fair_waiter const&>(each).lock().slot());
    };
    if (std::ranges::none_of(here.due, is_meant))
        return;
    here.due.sort([](auto const& a, auto const& b) {
        return static_cast<fair_waiter const&>(a).number() <
            static_cast<fair_waiter const&>(b).number();
    });
    fair_waiters revived;
    for (auto& each : here.due)
        if (auto& t = static_cast<fair_waiter&>(each); which(t.lock().slot())) {
            t.due = now;
            revived.push_back(*t.position);
        }
    for (auto const& t : revived)
        t->begin_revival();
    while (!revived.empty() && !here.due.empty() && here.due.front().due <= now)
        beat(here, take_due(here, now));
}

// Nothing is sent over a link that is down: when it comes up, all tickets are kept at once.
void heartbeat::run(ring& here)
{
    auto const now = clock::now();
    while (!here.due.empty() && here.due.front().due <= now && here.under_way < most_under_way &&
           core_.transport().is_up(here.lane))
        beat(here, take_due(here, now));
    if (!here.due.empty() && here.due.front().due > now)
        core_.set_alarm(here.alarm, here.due.front().due);
    else if (!here.due.empty() && here.under_way == 0) {
        core_.transport().want_link(here.lane);
        core_.set_alarm(here.alarm, now + decide::ticket_beat);
    }
}

// They stay in the ring, and are due again, whatever the answer is.
heartbeat::fair_waiters heartbeat::take_due(ring& from, time_point now)
{
    fair_waiters taken;
    auto const again = now + decide::ticket_beat;
    while (taken.size() != largest_call && from.due.front().due <= now + coalescing_window) {
        auto& next = static_cast<fair_waiter&>(from.due.front());
        from.due.pop_front();
        next.due = again;
        from.due.push_back(next);
        taken.push_back(*next.position);
    }
    return taken;
}

// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): a ring is there for good
strand_task heartbeat::beat(ring& here, fair_waiters some)
{
    batch asking{some};
    step s{scripts::fair_keep, some.front()->lock().slot(), asking.keys, asking.arguments};
    s.whole = true;
    ++here.under_way;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --here.under_way;
    auto const& items = got.value.items;
    bool const is_whole = got.what == answer::kind::replied && items.size() == some.size();
    bool const was_refused = got.what == answer::kind::not_now ||
        (got.what == answer::kind::failed && got.sent != time_point{});
    for (std::size_t i = 0; i != some.size(); ++i)
        if (is_whole)
            some[i]->kept(decide::read_keep(items[i]), got.sent);
        else if (was_refused)  // each asks for itself, and gets its own error
            some[i]->look();
    run(here);
}

}  // namespace colock
