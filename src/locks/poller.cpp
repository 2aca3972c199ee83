#include "core/core.hpp"
#include "decide/reply.hpp"
#include "locks/poller.hpp"
#include "redis/link_settings.hpp"

#include <optional>

namespace colock {

namespace {

// The client asks for keys that are due within this time together with those that are due now.
constexpr milliseconds coalescing_window{5};

/// Keys per call: a long call would make the server's other clients wait.
constexpr std::size_t largest_call = 128;

/// In place of a rest: the wait list is gone, or the client's entry in it.
constexpr std::int64_t list_gone = -3;

/// For each key what the call has told: the rest of its lease where that ends soon.
std::vector<std::optional<std::int64_t>> read_expiring(decide::reply const& got, std::size_t keys)
{
    std::vector<std::optional<std::int64_t>> told(keys);
    for (std::size_t i = 0; i + 1 < got.items.size(); i += 2) {
        auto const index = static_cast<std::size_t>(got.items[i].number) - 1;
        if (index < keys)
            told[index] = got.items[i + 1].number;
    }
    return told;
}

}  // namespace

/// The keys of one lane, in the order in which they are due: all sleep equally long.
struct poller::ring {
    ring(poller& whose, unsigned which) : of{whose}, lane{which} {}

    poller& of;
    unsigned lane;
    boost::intrusive::
        list<entry, boost::intrusive::base_hook<place>, boost::intrusive::constant_time_size<false>>
            keys;
    call_list asked;  ///< those of the call under way that still exist
    decide::alarm_queue::alarm alarm{[this] { of.run(*this); }};
    bool asking = false;
};

poller::poller(core& owner) : core_{owner} {}

poller::~poller() = default;

void poller::add(entry& key)
{
    auto const lane = core_.transport().lane_of(key.slot_);
    auto& here = rings_[lane];
    if (!here)
        here = std::make_unique<ring>(*this, lane);
    key.due_ = clock::now() + core_.settings().poll_cap;
    here->keys.push_back(key);
    if (!here->alarm.is_set() && !here->asking)
        core_.set_alarm(here->alarm, key.due_);
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
    if (here.keys.front().due_ > clock::now())
        core_.set_alarm(here.alarm, here.keys.front().due_);
    else if (core_.transport().is_up(here.lane))
        ask(here);
    else {
        core_.transport().want_link(here.lane);
        core_.set_alarm(here.alarm, clock::now() + core_.settings().poll_cap);
        if (is_refusal(core_.transport().down_reason(here.lane)))
            wake_all(here);
    }
}

void poller::wake_all(ring& here)
{
    call_list all;
    for (auto& key : here.keys)
        all.push_back(key);
    wake(all);
}

// Each asks for itself, and gets its own error. Waking may destroy any of them.
void poller::wake(call_list& some)
{
    while (!some.empty()) {
        auto& key = some.front();
        some.pop_front();
        key.wake();
    }
}

// They stay in the ring: a key that isn't free is not touched until it is due again.
poller::words poller::take_due(ring& from, time_point now)
{
    words all;
    auto const again = now + core_.settings().poll_cap;
    while (all.names.size() != largest_call && from.keys.front().due_ <= now + coalescing_window) {
        entry& key = from.keys.front();
        from.keys.pop_front();
        key.due_ = again;
        from.keys.push_back(key);
        key.index_ = all.names.size();
        key.number_ = key.kept_number();
        from.asked.push_back(key);
        all.names.emplace_back(key.name_);
        all.channels.push_back(key.kept_list());
    }
    return all;
}

// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): a ring is there for good
strand_task poller::ask(ring& here)
{
    auto const asking_for = take_due(here, clock::now());
    here.asking = true;
    std::vector<std::string_view> const keys{asking_for.names.begin(), asking_for.names.end()};
    auto const limit = std::to_string(core_.settings().poll_cap.count());
    std::vector<std::string_view> arguments{limit};
    arguments.insert(arguments.end(), asking_for.channels.begin(), asking_for.channels.end());
    step s{scripts::expiring, here.lane, keys, arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    here.asking = false;
    call_list asked;
    asked.swap(here.asked);
    if (got.what == answer::kind::failed)
        wake(asked);
    auto const told = read_expiring(got.value, keys.size());
    while (!asked.empty()) {
        auto& key = asked.front();
        asked.pop_front();
        if (got.what != answer::kind::replied)
            continue;
        auto const& news = told[key.index_];
        if (key.number_ != 0 && (!news || *news != list_gone))
            key.found(key.number_, got.sent);
        if (news)
            key.expiring(*news);
    }
    run(here);
}

}  // namespace colock
