// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "demo.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace demo {

namespace {

struct section {
    time_point begin, end;
    std::size_t worker;
    std::uint64_t token;
};

using sections_by_key = std::array<std::vector<section>, keys.size()>;

sections_by_key pair_up(std::vector<event> const& events)
{
    std::map<std::pair<unsigned, unsigned>, time_point> left;  // by worker and section
    std::array<time_point, workers> ended{};
    for (auto const& e : events)
        if (e.what == event::kind::leaves)
            left[{e.worker, e.section}] = e.at;
        else if (e.what == event::kind::ends)
            ended[e.worker] = e.at;
    sections_by_key sections;
    for (auto const& e : events)
        if (e.what == event::kind::enters) {
            auto const at = left.find({e.worker, e.section});
            auto const end = at == left.end() ? ended[e.worker] : at->second;
            sections[e.key].push_back({e.at, end, e.worker, e.token});
        }
    for (auto& list : sections)
        std::ranges::sort(list, {}, &section::begin);
    return sections;
}

}  // namespace

findings check(std::vector<event> const& events)
{
    findings found;
    auto const sections = pair_up(events);
    for (auto const& list : sections) {
        section const* before = nullptr;
        time_point over{};  // when all so far were over
        for (auto const& s : list) {
            ++found.sections;
            ++found.entered[s.worker];
            if (before) {
                found.overlaps += s.begin <= over;
                found.stale += s.token <= before->token;
                found.handovers += s.worker != before->worker;
            }
            over = std::max(over, s.end);
            before = &s;
        }
    }
    auto const& story = sections[story_key];
    auto const last = std::ranges::find(story, victim, &section::worker);
    found.succeeded = last != story.end() && last + 1 != story.end();
    return found;
}

}  // namespace demo
