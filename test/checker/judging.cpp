// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/judging.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>

namespace colock::test {

namespace {

/// One hold, as it says itself.
struct claim {
    event const* got = nullptr;
    std::int64_t valid_until = 0;                                   ///< the last that was noted
    std::int64_t ended = std::numeric_limits<std::int64_t>::max();  ///< it has left, or was told

    std::int64_t protected_until() const { return std::min(valid_until, ended); }
};

class protection {
public:
    explicit protection(std::int64_t lease) : lease_{lease} {}

    // A process that is being killed runs until the signal arrives, so what it notes meanwhile
    // counts: it may have released.
    void take(event const& e)
    {
        auto const id = (std::uint64_t{e.process} << 32) | e.attempt;
        if (e.kind == what::taken)
            return taken_.push_back(&e);
        if (e.kind == what::got && claims_.try_emplace(id, claim{&e, e.valid_until}).second)
            return by_key_[e.key].push_back(&claims_.at(id));
        auto const found = claims_.find(id);
        if (found == claims_.end())
            return;
        auto& mine = found->second;
        if (e.kind == what::used || e.kind == what::left)
            mine.valid_until = std::max(mine.valid_until, e.valid_until);
        if (e.kind == what::left || e.kind == what::told)
            mine.ended = std::min(mine.ended, e.at);
    }

    void judge(findings& found) const
    {
        for (auto const& [key, claims] : by_key_)
            judge(claims, found);
    }

private:
    void judge(std::vector<claim const*> const& claims, findings& found) const
    {
        std::vector<claim const*> inside;
        for (auto const* next : claims) {
            auto const at = next->got->at;
            std::erase_if(inside, [&](auto const* each) { return each->protected_until() <= at; });
            if (next->got->valid_until <= at)
                continue;  // it says itself that it has nothing
            for (auto const* each : inside)
                if (!(each->got->shared && next->got->shared))
                    judge(*each, *next, found);
            inside.push_back(next);
        }
    }

    void judge(claim const& each, claim const& next, findings& found) const
    {
        if (is_taken(each, next))
            return void(++found.violations_of_taken);
        found.complain(
            found.violations,
            "violation: [" + to_string(*each.got) + "], protected for another " +
                std::to_string((each.protected_until() - next.got->at) / 1'000) + " us, and [" +
                to_string(*next.got) + ']'
        );
    }

    /// The server has lost the grant of one of them before the second got in. A hold that was
    /// renewed after that was not lost; the renewal was sent at its validity less the lease.
    bool is_taken(claim const& each, claim const& next) const
    {
        return std::ranges::any_of(taken_, [&](event const* t) {
            bool const is_this = t->key == every_key || t->key == next.got->key;
            bool const was_before =
                std::min(each.valid_until, next.got->valid_until) - lease_ <= t->at;
            return is_this && was_before && t->valid_until <= next.got->at;
        });
    }

    std::int64_t lease_;
    std::unordered_map<std::uint64_t, claim> claims_;
    std::map<std::uint32_t, std::vector<claim const*>> by_key_;
    std::vector<event const*> taken_;
};

}  // namespace

void judge_protection(std::vector<event> const& history, std::int64_t lease, findings& found)
{
    protection all{lease};
    for (auto const& e : history)
        all.take(e);
    all.judge(found);
}

namespace {

std::string describe(recorded_attempt const& a)
{
    static constexpr std::array ends{"released", "lost", "killed"};
    std::ostringstream text;
    text << (a.shared ? "[reader " : "[") << "process " << a.process << " token " << a.token
         << " asked " << a.asked;
    if (a.is_hold())
        text << " got +" << (a.got - a.asked) / 1'000 << " us";
    if (a.end != never_ends)
        text << ' ' << ends.at(static_cast<std::size_t>(a.how)) << " +" << (a.end - a.asked) / 1'000
             << " us";
    return text.str() + ']';
}

/// It is on its feet again, and hears what there is to hear.
constexpr std::int64_t to_come_round = 200'000'000;

std::int64_t awake(recorded_stop const& s)
{
    return s.end == never_ends ? never_ends : s.end + to_come_round;
}

/// Stopped while it held the lock, all the time from then on until it was over.
bool was_stopped(recorded_attempt const& a, std::int64_t since, stops_by_process const& stops)
{
    auto const found = stops.find(a.process);
    if (found == stops.end())
        return false;
    auto const excuse = [&](recorded_stop const& s) {
        return !s.is_short && s.begin < since && s.end > a.got && since < awake(s);
    };
    while (since < a.end) {
        auto const stop = std::ranges::find_if(found->second, excuse);
        if (stop == found->second.end())
            return false;
        since = awake(*stop);
    }
    return true;
}

/// How long a process did not run between two moments.
std::int64_t stood_still(
    std::uint32_t process, std::int64_t from, std::int64_t to, stops_by_process const& stops
)
{
    std::int64_t time = 0;
    if (auto const found = stops.find(process); found != stops.end())
        for (auto const& s : found->second)
            time += std::max<std::int64_t>(0, std::min(to, s.end) - std::max(from, s.begin));
    return time;
}

/// All holds of one lock, in the order in which they were got.
using holds_in_order = std::vector<recorded_attempt const*>;

void judge_overlaps(holds_in_order const& holds, stops_by_process const& stops, findings& found)
{
    std::vector<recorded_attempt const*> inside;
    for (auto const* next : holds) {
        if (next->in_vain)
            continue;
        std::erase_if(inside, [&](auto const* each) { return each->end <= next->got; });
        for (auto const* each : inside) {
            if (each->shared && next->shared)
                continue;
            bool const excused = was_stopped(*each, next->got, stops);
            found.complain(
                excused ? found.overlaps_of_stopped : found.overlaps,
                "overlap: " + describe(*each) + " and " + describe(*next)
            );
            auto const still = stood_still(each->process, next->got, each->end, stops);
            if (!excused)
                found.longest_overlap =
                    std::max(found.longest_overlap, each->end - next->got - still);
        }
        inside.push_back(next);
    }
}

void judge_tokens(holds_in_order const& holds, findings& found)
{
    std::vector<recorded_attempt const*> numbered, by_admission;
    std::ranges::copy_if(holds, std::back_inserter(numbered), [](recorded_attempt const* a) {
        return !a->shared && a->token != 0;
    });
    by_admission = numbered;
    std::ranges::sort(by_admission, {}, &recorded_attempt::admitted_after);
    std::uint64_t highest = 0;
    std::size_t before = 0;
    std::set<std::uint64_t> seen;
    for (auto const* next : by_admission) {
        for (; before != numbered.size() && numbered[before]->got < next->admitted_after; ++before)
            highest = std::max(highest, numbered[before]->token);
        if (next->token <= highest || !seen.insert(next->token).second)
            found.complain(found.tokens_not_rising, "token " + describe(*next));
    }
}

/// By the order in which they held it, which is known where one was out before the next was in.
void judge_turns(holds_in_order const& holds, findings& found)
{
    std::vector<recorded_attempt const*> numbered;
    std::ranges::copy_if(holds, std::back_inserter(numbered), [](recorded_attempt const* a) {
        return !a->shared && a->token != 0 && !a->in_vain;
    });
    auto over = numbered;
    std::ranges::sort(over, {}, &recorded_attempt::end);
    std::uint64_t highest = 0;
    std::size_t before = 0;
    for (auto const* next : numbered) {
        for (; before != over.size() && over[before]->end <= next->got; ++before)
            highest = std::max(highest, over[before]->token);
        if (next->token <= highest)
            found.complain(found.tokens_out_of_turn, "token out of turn " + describe(*next));
    }
}

void judge_writes(holds_in_order const& holds, findings& found)
{
    std::map<std::int64_t, recorded_attempt const*> by_order;
    for (auto const* each : holds)
        for (auto const* w : each->writes)
            if (w->order == 0 || !by_order.emplace(w->order, each).second)
                found.complain(found.malformed, "no place of its own: " + to_string(*w));
    recorded_attempt const* newest = nullptr;
    for (auto const& [order, writer] : by_order) {
        if (newest && newest->admitted_after > writer->got)
            found.complain(
                found.stale_writes,
                "stale write of " + describe(*writer) + " after " + describe(*newest)
            );
        if (!newest || writer->admitted_after > newest->admitted_after)
            newest = writer;
    }
}

/// A client gives out no hold whose validity is half over. So the process was given no time between
/// the answer and the note, or the server lost the lock meanwhile.
void judge_in_vain(
    std::uint32_t key,
    holds_in_order const& holds,
    recorded_troubles const& troubles,
    findings& found
)
{
    for (auto const* each : holds) {
        if (!each->in_vain)
            continue;
        ++found.in_vain;
        auto const since = std::max(each->asked, each->got - 2 * troubles.lease);
        bool const is_taken = std::ranges::any_of(troubles.taken, [&](event const* t) {
            return (t->key == every_key || t->key == key) && t->valid_until <= each->got &&
                t->at >= since;
        });
        if (!is_taken && stood_still(each->process, since, each->got, troubles.stops) == 0)
            found.complain(found.in_vain_for_no_reason, "in vain: " + describe(*each));
    }
}

/// A process that asks its hold and writes may be stopped in between, and at no other time is the
/// write of a hold that is valid refused. Signals arrive a little later than they are noted.
void judge_refused_writes(
    holds_in_order const& holds, stops_by_process const& stops, findings& found
)
{
    constexpr std::int64_t little = 100'000'000;
    for (auto const* each : holds)
        for (auto const* w : each->refused_writes)
            if (stood_still(each->process, w->at - little, w->at + little, stops) == 0)
                found.complain(found.refused_writes_of_running, "refused write: " + to_string(*w));
}

void judge_awakening(recorded_attempt const& a, recorded_troubles const& troubles, findings& found)
{
    auto const stops = troubles.stops.find(a.process);
    if (stops == troubles.stops.end())
        return;
    auto const long_stop = std::ranges::find_if(stops->second, [&](recorded_stop const& s) {
        return s.begin > a.got && s.end < a.end && s.end - s.begin > troubles.lease;
    });
    if (long_stop == stops->second.end() || a.how == ending::killed)
        return;
    ++found.slept_through;
    auto const still = stood_still(a.process, long_stop->end, a.end, troubles.stops);
    if (a.end - long_stop->end - still > to_come_round)
        found.complain(found.unaware_after_stop, "unaware after a stop: " + describe(a));
}

}  // namespace

void judge(
    std::uint32_t key,
    std::vector<recorded_attempt const*> const& attempts,
    recorded_troubles const& troubles,
    findings& found
)
{
    auto const& stops = troubles.stops;
    holds_in_order holds;
    for (auto const* a : attempts) {
        if (a->end == never_ends)
            found.complain(found.hung, "hung: " + describe(*a));
        if (a->is_hold())
            holds.push_back(a);
    }
    std::ranges::sort(holds, {}, &recorded_attempt::got);
    for (auto const* each : holds)
        judge_awakening(*each, troubles, found);
    judge_in_vain(key, holds, troubles, found);
    judge_refused_writes(holds, stops, found);
    judge_overlaps(holds, stops, found);
    judge_tokens(holds, found);
    judge_turns(holds, found);
    judge_writes(holds, found);
}

}  // namespace colock::test
