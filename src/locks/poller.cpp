#include "core/core.hpp"
#include "decide/reply.hpp"
#include "locks/exclusive_lock.hpp"
#include "locks/exclusive_locks.hpp"
#include "locks/poller.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <string_view>

namespace colock {

namespace {

// The client asks for keys that are due within this time together with those that are due now.
constexpr milliseconds coalescing_window{5};

/// Keys per call: a long call would make the server's other clients wait.
constexpr std::size_t largest_call = 128;

}  // namespace

/// The keys of one lane, in the order in which they are due: all sleep equally long.
struct poller::ring {
    ring(poller& whose, unsigned which) : of{whose}, lane{which} {}

    poller& of;
    unsigned lane;
    boost::intrusive::list<entry, boost::intrusive::constant_time_size<false>> keys;
    decide::alarm_queue::alarm alarm{[this] { of.run(*this); }};
    bool asking = false;
};

poller::poller(core& owner) : core_{owner} {}

poller::~poller() = default;

void poller::add(entry& key)
{
    auto const lane = core_.transport().lane_of(key.slot);
    auto& here = rings_[lane];
    if (!here)
        here = std::make_unique<ring>(*this, lane);
    key.due = clock::now() + core_.settings().poll_cap;
    here->keys.push_back(key);
    if (!here->alarm.is_set() && !here->asking)
        core_.set_alarm(here->alarm, key.due);
}

void poller::stop()
{
    for (auto const& [lane, here] : rings_)
        here->alarm.clear();
}

// One call at a time. Nothing is asked over a link that is down: when it comes up, all sleeping
// keys are woken, and until then the only news would be that it does not come up.
void poller::run(ring& here)
{
    if (here.asking || here.keys.empty())
        return;
    if (here.keys.front().due > clock::now())
        core_.set_alarm(here.alarm, here.keys.front().due);
    else if (core_.transport().is_up(here.lane))
        ask(here);
    else {
        core_.transport().want_link(here.lane);
        core_.set_alarm(here.alarm, clock::now() + core_.settings().poll_cap);
        if (is_refusal(core_.transport().down_reason(here.lane)))
            wake_all(here);
    }
}

void poller::wake_all(ring const& here)
{
    std::vector<lock_id> sleeping;
    for (auto const& key : here.keys)
        sleeping.push_back({std::string{key.which.name}, key.which.kind});
    wake(sleeping);
}

// Each asks for itself, and gets its own error.
void poller::wake(std::vector<lock_id> const& sleeping)
{
    for (auto const& id : sleeping)
        if (auto* const key = core_.exclusive_locks().find(ref_of(id)))
            key->wake_if_asleep();
}

// They stay in the ring: a key that isn't free is not touched until it is due again.
std::vector<lock_id> poller::take_due(ring& from, time_point now)
{
    std::vector<lock_id> taken;
    auto const again = now + core_.settings().poll_cap;
    while (taken.size() != largest_call && from.keys.front().due <= now + coalescing_window) {
        entry& key = from.keys.front();
        from.keys.pop_front();
        key.due = again;
        from.keys.push_back(key);
        taken.push_back({std::string{key.which.name}, key.which.kind});
    }
    return taken;
}

// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): a ring is there for good
strand_task poller::ask(ring& here)
{
    auto const taken = take_due(here, clock::now());
    here.asking = true;
    std::vector<std::string_view> keys;
    keys.reserve(taken.size());
    for (auto const& id : taken)
        keys.push_back(id.name);
    auto const limit = std::to_string(core_.settings().poll_cap.count());
    std::string_view const arguments[]{limit};
    step s{scripts::expiring, here.lane, keys, arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    here.asking = false;
    auto const& items = got.value.items;
    if (got.what == answer::kind::replied)
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            auto const index = static_cast<std::size_t>(items[i].number) - 1;
            auto* const key =
                index < taken.size() ? core_.exclusive_locks().find(ref_of(taken[index])) : nullptr;
            if (key)
                key->expiring(items[i + 1].number);
        }
    else if (got.what == answer::kind::failed)
        wake(taken);
    run(here);
}

}  // namespace colock
