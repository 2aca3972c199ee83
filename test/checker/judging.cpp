// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/judging.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace colock::test {

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
        return s.begin < since && s.end > a.got && since < awake(s);
    };
    while (since < a.end) {
        auto const stop = std::ranges::find_if(found->second, excuse);
        if (stop == found->second.end())
            return false;
        since = awake(*stop);
    }
    return true;
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
            if (!excused)
                found.longest_overlap = std::max(found.longest_overlap, each->end - next->got);
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

}  // namespace

void judge(
    std::vector<recorded_attempt const*> const& attempts,
    stops_by_process const& stops,
    findings& found
)
{
    holds_in_order holds;
    for (auto const* a : attempts) {
        if (a->end == never_ends)
            found.complain(found.hung, "hung: " + describe(*a));
        if (a->is_hold())
            holds.push_back(a);
    }
    std::ranges::sort(holds, {}, &recorded_attempt::got);
    judge_overlaps(holds, stops, found);
    judge_tokens(holds, found);
    judge_turns(holds, found);
    judge_writes(holds, found);
}

}  // namespace colock::test
