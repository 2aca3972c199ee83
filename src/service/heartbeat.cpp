#include "decide/fair_wait.hpp"
#include "service/core.hpp"
#include "service/fair_queue.hpp"
#include "service/heartbeat.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

namespace {

/// Tickets that are due within this are kept with those that are due now.
constexpr milliseconds coalescing_window{50};

/// Tickets a call: a long one would keep the server's other clients waiting.
constexpr std::size_t largest_call = 128;

/// Calls under way a link.
constexpr unsigned most_under_way = 4;

}  // namespace

/// The tickets of one link, in the order in which they are due.
struct heartbeat::ring {
    boost::intrusive::list<heartbeat_hook, boost::intrusive::constant_time_size<false>> due;
    unsigned under_way = 0;
};

/// One call, with the texts that it refers to.
struct heartbeat::batch {
    explicit batch(tickets const& some)
    {
        fields.reserve(some.size());  // so that what is written stays where it is
        for (auto const& t : some) {
            auto const& of = t->queue();
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
    std::vector<std::shared_ptr<resident const>> names;  ///< whose names the call has
    std::vector<std::string_view> keys, arguments;
};

heartbeat::heartbeat(core& owner)
    : core_{owner}
    , rings_(std::max(1U, owner.settings().links))
    , alarm_{[this] { run(); }}
{}

heartbeat::~heartbeat() = default;

heartbeat::ring& heartbeat::ring_of(ticket const& t)
{
    return rings_[core_.transport().link_of(t.queue().slot())];
}

void heartbeat::add(ticket& t, time_point since)
{
    t.due = since + decide::ticket_beat;
    ring_of(t).due.push_back(t);
    if (!alarm_.is_set())
        core_.set_alarm(alarm_, t.due);
}

// However many calls that takes: what is asked over the link meanwhile would take away those that
// were not kept in time.
void heartbeat::revive(unsigned link)
{
    auto& due = rings_[link].due;
    auto const now = clock::now();
    due.sort([](auto const& a, auto const& b) {
        return static_cast<ticket const&>(a).number() < static_cast<ticket const&>(b).number();
    });
    for (auto& each : due)
        each.due = now;
    while (!due.empty() && due.front().due <= now)
        beat(link, take_due(rings_[link], now));
}

void heartbeat::run()
{
    auto const now = clock::now();
    for (unsigned link = 0; link != rings_.size(); ++link)
        while (next_of(link) <= now)
            beat(link, take_due(rings_[link], now));
    auto next = never;
    for (unsigned link = 0; link != rings_.size(); ++link)
        next = std::min(next, next_of(link));
    core_.set_alarm(alarm_, next);
}

// None over a link that is down: when it comes up all are kept at once.
time_point heartbeat::next_of(unsigned link) const noexcept
{
    auto const& here = rings_[link];
    bool const may_send = here.under_way < most_under_way && core_.transport().is_up(link);
    return may_send && !here.due.empty() ? here.due.front().due : never;
}

// They stay in the ring, and are due again whatever the answer is.
heartbeat::tickets heartbeat::take_due(ring& from, time_point now)
{
    tickets taken;
    auto const again = now + decide::ticket_beat;
    while (taken.size() != largest_call && from.due.front().due <= now + coalescing_window) {
        auto& next = static_cast<ticket&>(from.due.front());
        from.due.pop_front();
        next.due = again;
        from.due.push_back(next);
        taken.push_back(*next.place);
    }
    return taken;
}

sequence heartbeat::beat(unsigned link, tickets some)
{
    batch asking{some};
    step s{scripts::fair_keep, some.front()->queue().slot(), asking.keys, asking.arguments};
    s.whole = true;
    ++rings_[link].under_way;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    --rings_[link].under_way;
    auto const& items = got.value.items;
    bool const is_whole = got.what == answer::kind::replied && items.size() == some.size();
    bool const was_refused = got.what == answer::kind::failed && got.sent != time_point{};
    for (std::size_t i = 0; i != some.size(); ++i)
        if (is_whole)
            some[i]->kept(decide::read_keep(items[i]), got.sent);
        else if (was_refused)  // each asks for itself, and hears its own error
            some[i]->look();
    run();
}

}  // namespace colock
