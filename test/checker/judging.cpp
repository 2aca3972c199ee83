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

/// Stopped while it held the lock, and no 200 ms on its feet since.
bool was_stopped(recorded_attempt const& a, std::int64_t at, stops_by_process const& stops)
{
    auto const found = stops.find(a.process);
    return found != stops.end() && std::ranges::any_of(found->second, [&](recorded_stop const& s) {
               return s.begin < at && s.end > a.got &&
                   (s.end == never_ends || at < s.end + 200'000'000);
           });
}

/// All holds of one lock, in the order in which they were got.
using holds_in_order = std::vector<recorded_attempt const*>;

void judge_overlaps(holds_in_order const& holds, stops_by_process const& stops, findings& found)
{
    std::vector<recorded_attempt const*> inside;
    for (auto const* next : holds) {
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
                found.longest_overlap =
                    std::max(found.longest_overlap, std::min(each->end, next->end) - next->got);
        }
        inside.push_back(next);
    }
}

void judge_tokens(holds_in_order const& holds, findings& found)
{
    std::vector<recorded_attempt const*> numbered, by_asking;
    std::ranges::copy_if(holds, std::back_inserter(numbered), [](recorded_attempt const* a) {
        return !a->shared && a->token != 0;
    });
    by_asking = numbered;
    std::ranges::sort(by_asking, {}, &recorded_attempt::asked);
    std::uint64_t highest = 0;
    std::size_t before = 0;
    std::set<std::uint64_t> seen;
    for (auto const* next : by_asking) {
        for (; before != numbered.size() && numbered[before]->got < next->asked; ++before)
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
        return !a->shared && a->token != 0;
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
        if (newest && newest->asked > writer->got)
            found.complain(
                found.stale_writes,
                "stale write of " + describe(*writer) + " after " + describe(*newest)
            );
        if (!newest || writer->asked > newest->asked)
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
