#include "core/core.hpp"
#include "decide/linked_list.hpp"
#include "decide/reply.hpp"
#include "decide/wait_plan.hpp"
#include "locks/poller.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <optional>

namespace colock {

namespace {

// The client asks for keys that are due within this time together with those that are due now.
constexpr milliseconds question_window{5};

// Where it asks each 20 s because it waits for many, a call is for some hundred of them then.
milliseconds window_of(milliseconds interval) noexcept
{
    return std::max(question_window, interval / 200);
}

/// For each key what the call has told: in how many ms to ask for it, if it has to ask.
std::vector<std::optional<std::int64_t>> read_look(decide::reply const& got, std::size_t keys)
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

/// The keys of one lane, in the order in which they were asked for.
struct poller::ring {
    ring(poller& whose, ring_key which) : of{whose}, lane{which.first}, is_sure{which.second} {}

    /// When the first key is due. If keys leave, that is earlier. If others join, it is not later,
    /// because the last answer was good for the interval of that time.
    time_point due() const noexcept
    {
        auto const& first = keys.front();
        return std::min(first.due_, first.asked_ + of.interval(is_sure));
    }

    poller& of;
    unsigned lane;
    bool is_sure;
    decide::linked_list<entry, place> keys;
    call_list asked;  ///< those of the call under way that still exist
    decide::alarm_queue::alarm alarm{[this] { of.run(*this); }};
    bool asking = false;
};

poller::poller(core& owner) : core_{owner} {}

poller::~poller() = default;

void poller::add(entry& key)
{
    ring_key const which{core_.transport().lane_of(key.slot_), key.is_sure_to_be_told()};
    auto& here = rings_[which];
    if (!here)
        here = std::make_unique<ring>(*this, which);
    key.asked_ = clock::now();
    here->keys.push_back(key);
    key.count_ = which.second ? &sure_keys_ : &other_keys_;
    ++*key.count_;
    key.due_ = key.asked_ + interval(which.second);
    if (!here->alarm.is_set() && !here->asking)
        set_alarm(*here);
}

void poller::hurry(entry& key)
{
    bool const is_sure = key.count_ == &sure_keys_;
    auto& here = *rings_.at({core_.transport().lane_of(key.slot_), is_sure});
    static_cast<place&>(key).unlink();
    here.keys.push_front(key);
    key.due_ = clock::now();
    key.kept_ = {};  // it may have lost its place, so the call names it
    if (!here.asking)
        core_.set_alarm(here.alarm, key.due_);
}

milliseconds poller::interval(bool is_sure) const noexcept
{
    auto const cap = std::min<milliseconds>(core_.settings().poll_cap, decide::longest_unkept);
    return is_sure ? decide::sure_interval(sure_keys_, cap) : cap;
}

// Keys may leave, and the others are due earlier then.
void poller::set_alarm(ring& here)
{
    core_.set_alarm(here.alarm, std::min(here.due(), clock::now() + interval(false)));
}

void poller::stop()
{
    for (auto const& [which, here] : rings_)
        here->alarm.clear();
}

// One call at a time. Nothing is asked over a link that is down: when it comes up, all sleeping
// keys are woken, and until then the only news would be that it does not come up.
void poller::run(ring& here)
{
    if (here.asking || here.keys.empty())
        return;
    if (here.due() > clock::now())
        set_alarm(here);
    else if (core_.transport().is_up(here.lane))
        ask(here);
    else {
        core_.transport().want_link(here.lane);
        core_.set_alarm(here.alarm, clock::now() + interval(false));
        if (is_refusal(core_.transport().down_reason(here.lane)))
            wake_all(here);
    }
}

// A key that changes from one ring to the other while a call is under way is asked for again; the
// answer of the older call says nothing new.
void poller::put(entry& key, call_list& of)
{
    if (key.call_place::is_linked())
        key.call_place::unlink();
    of.push_back(key);
}

void poller::wake_all(ring& here)
{
    call_list all;
    for (auto& key : here.keys)
        put(key, all);
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

// Each is added again, to the ring that it belongs to now: a key that isn't free is not touched
// until it is due again.
poller::words poller::take_due(ring& from, time_point now)
{
    words all;
    auto const window = window_of(interval(from.is_sure));
    while (all.names.size() != largest_call && !from.keys.empty() && from.due() <= now + window) {
        entry& key = from.keys.front();
        key.leave();
        add(key);
        key.index_ = all.names.size();
        put(key, from.asked);
        all.names.emplace_back(key.name_);
        write(key, now, all.arguments);
    }
    return all;
}

// Where the client looks rarely because it waits for many keys, naming each entry costs too much.
void poller::write(entry& key, time_point now, std::vector<std::string>& to) const
{
    auto what = key.to_look_for();
    bool const keeps = now - key.kept_ >= decide::list_unnamed;
    if (!keeps && interval_of(key) != interval(false))
        what.entry.clear();
    else if (keeps && !what.entry.empty())
        key.kept_ = now;
    to.push_back(std::move(what.list));
    to.push_back(std::move(what.entry));
    to.push_back(std::to_string((what.hears ? 1 : 0) + (keeps ? 2 : 0)));
}

// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): a ring is there for good
strand_task poller::ask(ring& here)
{
    here.asking = true;
    auto const asking_for = take_due(here, clock::now());
    std::vector<std::string_view> const keys{asking_for.names.begin(), asking_for.names.end()};
    auto const limit = std::to_string(interval(here.is_sure).count());
    auto const box = core_.mailbox_argument(here.lane);
    std::vector<std::string_view> arguments{limit, box};
    arguments.insert(arguments.end(), asking_for.arguments.begin(), asking_for.arguments.end());
    step s{scripts::look, here.lane, keys, arguments};
    s.whole = true;
    core_.transport().submit(s);
    answer const got = co_await s.answered;
    here.asking = false;
    call_list asked;
    asked.swap(here.asked);
    if (got.what == answer::kind::failed)
        wake(asked);
    auto const told = read_look(got.value, keys.size());
    while (!asked.empty()) {
        auto& key = asked.front();
        asked.pop_front();
        if (auto const& news = told[key.index_]; got.what == answer::kind::replied && news)
            key.ask_in(*news);
    }
    run(here);
}

}  // namespace colock
