#include "decide/reply.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include "service/recheck.hpp"

#include <algorithm>
#include <string_view>

namespace colock {

namespace {

// Keys that are due within this are asked for with those that are due now.
constexpr milliseconds coalescing_window{5};

/// Keys a call: a long one would keep the server's other clients waiting.
constexpr std::size_t largest_call = 128;

}  // namespace

/// The keys of one link, in the order in which they are due: all sleep equally long.
struct recheck::ring {
    boost::intrusive::list<sleeper, boost::intrusive::constant_time_size<false>> keys;
    bool asking = false;
};

recheck::recheck(core& owner)
    : core_{owner}
    , rings_(std::max(1U, owner.settings().links))
    , alarm_{[this] { run(); }}
{}

recheck::~recheck() = default;

void recheck::add(sleeper& key)
{
    key.due = clock::now() + core_.settings().poll_cap;
    rings_[core_.transport().link_of(key.slot)].keys.push_back(key);
    if (!alarm_.is_set())
        core_.set_alarm(alarm_, key.due);
}

void recheck::run()
{
    for (unsigned link = 0; link != rings_.size(); ++link)
        if (next_of(link) <= clock::now())
            ask(link);
    auto next = never;
    for (unsigned link = 0; link != rings_.size(); ++link)
        next = std::min(next, next_of(link));
    core_.set_alarm(alarm_, next);
}

// One question at a time, and none over a link that is down: when it comes up all who sleep are
// woken.
time_point recheck::next_of(unsigned link) const noexcept
{
    auto const& here = rings_[link];
    bool const may_ask = !here.asking && core_.transport().is_up(link);
    return may_ask && !here.keys.empty() ? here.keys.front().due : never;
}

// They stay in the ring: a key that isn't free is not touched again until it is due.
std::vector<lock_id> recheck::take_due(ring& from, time_point now)
{
    std::vector<lock_id> taken;
    auto const again = now + core_.settings().poll_cap;
    while (taken.size() != largest_call && from.keys.front().due <= now + coalescing_window) {
        sleeper& key = from.keys.front();
        from.keys.pop_front();
        key.due = again;
        from.keys.push_back(key);
        taken.push_back({std::string{key.which.name}, key.which.kind});
    }
    return taken;
}

sequence recheck::ask(unsigned link)
{
    ring& here = rings_[link];
    auto const taken = take_due(here, clock::now());
    here.asking = true;
    std::vector<std::string_view> keys;
    keys.reserve(taken.size());
    for (auto const& id : taken)
        keys.push_back(id.name);
    auto const limit = std::to_string(core_.settings().poll_cap.count());
    std::string_view const arguments[]{limit};
    step s{scripts::expiring, link, keys, arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    here.asking = false;
    auto const& items = got.value.items;
    if (got.what == answer::kind::replied)
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            auto const place = static_cast<std::size_t>(items[i].number) - 1;
            auto* const key = place < taken.size() ? core_.find_key(ref_of(taken[place])) : nullptr;
            if (key)
                key->expiring(items[i + 1].number);
        }
    else if (got.what == answer::kind::failed)
        for (auto const& id : taken)  // each asks for itself, and hears its own error
            if (auto* const key = core_.find_key(ref_of(id)))
                key->wake_sleeper();
    run();
}

}  // namespace colock
