#include "core/core.hpp"
#include "decide/fair_wait.hpp"
#include "decide/linked_list.hpp"
#include "locks/heartbeat.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace colock {

namespace {

/// The heartbeat of tickets that are due within this time goes with those that are due now.
constexpr milliseconds heartbeat_window{50};

/// Calls under way per lane.
constexpr unsigned most_heartbeats_under_way = 4;

}  // namespace

/// The tickets of one lane, in the order in which they are due.
struct heartbeat::ring {
    ring(heartbeat& whose, unsigned which) : of{whose}, lane{which} {}

    heartbeat& of;
    unsigned lane;
    decide::linked_list<ticket, place> due;
    decide::alarm_queue::alarm alarm{[this] { of.run(*this); }};
    std::uint64_t beats = 0;
    unsigned under_way = 0;
};

/// One call, with the texts that it refers to.
struct heartbeat::batch {
    explicit batch(tickets const& some)
    {
        named.reserve(some.size());  // so that the texts do not move
        for (auto const& t : some) {
            auto const& of = named.emplace_back(t->names());
            keys.insert(keys.end(), {of.lock, of.keys.queue, of.keys.timeouts, of.keys.tickets});
            arguments.insert(arguments.end(), {of.field, decide::redisson_fair_wait, life_text});
        }
    }

    std::string life_text = std::to_string(decide::ticket_life.count());
    std::vector<names> named;
    std::vector<std::string_view> keys, arguments;
};

heartbeat::heartbeat(core& owner) : core_{owner} {}

heartbeat::~heartbeat() = default;

void heartbeat::add(ticket& t, time_point since)
{
    auto const lane = core_.transport().lane_of(t.slot());
    auto& here = rings_[lane];
    if (!here)
        here = std::make_unique<ring>(*this, lane);
    t.due_ = since + decide::ticket_beat;
    t.first_beat_ = 0;
    here->due.push_back(t);
    if (!here->alarm.is_set())
        core_.set_alarm(here->alarm, t.due_);
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
    auto const is_meant = [&](ticket const& each) { return which(each.slot()); };
    if (std::ranges::none_of(here.due, is_meant))
        return;
    here.due.sort([](auto const& a, auto const& b) { return a.number() < b.number(); });
    tickets revived;
    for (auto& t : here.due)
        if (is_meant(t)) {
            t.due_ = now;
            t.first_beat_ = here.beats + 1;
            revived.push_back(t.share());
        }
    for (auto const& t : revived)
        t->begin_revival();
    while (!revived.empty() && !here.due.empty() && here.due.front().due_ <= now)
        beat(here, take_due(here, now));
}

// Nothing is sent over a link that is down: when it comes up, all tickets are kept at once.
void heartbeat::run(ring& here)
{
    auto const now = clock::now();
    while (!here.due.empty() && here.due.front().due_ <= now &&
           here.under_way < most_heartbeats_under_way && core_.transport().is_up(here.lane))
        beat(here, take_due(here, now));
    if (!here.due.empty() && here.due.front().due_ > now)
        core_.set_alarm(here.alarm, here.due.front().due_);
    else if (!here.due.empty() && here.under_way == 0) {
        core_.transport().want_link(here.lane);
        core_.set_alarm(here.alarm, now + decide::ticket_beat);
        if (is_refusal(core_.transport().down_reason(here.lane)))
            look(here);
    }
}

// Waiting does not help: each waiter asks for itself, and gets its own error.
void heartbeat::look(ring& here)
{
    tickets all;
    for (auto& each : here.due)
        all.push_back(each.share());
    for (auto const& each : all)
        each->look();
}

// They stay in the ring, and are due again, whatever the answer is.
heartbeat::tickets heartbeat::take_due(ring& from, time_point now)
{
    tickets taken;
    auto const again = now + decide::ticket_beat;
    while (taken.size() != largest_call && from.due.front().due_ <= now + heartbeat_window) {
        auto& next = from.due.front();
        from.due.pop_front();
        next.due_ = again;
        from.due.push_back(next);
        taken.push_back(next.share());
    }
    ++from.beats;
    return taken;
}

// Only the latest call for a ticket tells it something: an earlier one may have waited for the
// link, and would overtake the order of a revival.
//
// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): a ring is there for good
strand_task heartbeat::beat(ring& here, tickets some)
{
    batch asking{some};
    auto const number = here.beats;
    step s{scripts::fair_keep, some.front()->slot(), asking.keys, asking.arguments};
    s.whole = true;
    ++here.under_way;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --here.under_way;
    auto const& items = got.value.items;
    bool const is_whole = got.what == answer::kind::replied && items.size() == some.size();
    bool const was_refused = got.what == answer::kind::not_now ||
        (got.what == answer::kind::failed && got.sent != time_point{});
    for (std::size_t i = 0; i != some.size(); ++i) {
        if (number < some[i]->first_beat_)
            continue;
        if (is_whole)
            some[i]->kept(decide::read_keep(items[i]), got.sent);
        else if (was_refused)  // each asks for itself, and gets its own error
            some[i]->look();
    }
    run(here);
}

}  // namespace colock
