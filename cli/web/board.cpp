// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "web/board.hpp"

#include <algorithm>
#include <utility>

namespace cli::web {

namespace {

/// A lock may have thousands of readers.
constexpr std::int64_t holders_a_lock = 16;

template <class T>
std::int64_t count(std::vector<T> const& of)
{
    return static_cast<std::int64_t>(of.size());
}

std::int64_t milliseconds_of(wall_time time)
{
    return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

/// The lease of the last reading may have ended before the next one.
bool may_be_over(reading const& last, reading const& now)
{
    return last.found.lease && now.answered - last.asked >= *last.found.lease;
}

}  // namespace

boost::json::object to_json(change const& c)
{
    boost::json::object made{
        {"time", milliseconds_of(c.time)},
        {"event", c.what},
        {"key", json_text(c.key)},
        {"owner", json_text(c.who.field)}};
    if (!c.who.side.empty())
        made["side"] = c.who.side;
    if (!c.who.label.empty())
        made["label"] = json_text(c.who.label);
    if (c.lease)
        made["lease_ms"] = c.lease->count();
    return made;
}

std::vector<change> board::take(reading now)
{
    auto const key = now.found.key;
    bool const is_lock = now.found.what == picture::content::lock;
    if (!is_lock && !has(key))
        return {};
    auto& known = locks_[key];
    auto const ended = known.lease_is_known && may_be_over(known.last, now) ? "gone" : "released";
    std::vector<change> changes;
    for (auto const& h : those_who_went(known.last.found, now.found)) {
        changes.push_back({ended, key, h, now.found.lease, now.time});
        known.holders.erase(h.field);
    }
    for (auto const& h : those_who_went(now.found, known.last.found)) {
        if (!is_first_round_)
            changes.push_back({"acquired", key, h, now.found.lease, now.time});
        known.holders[h.field] = {now.time, !is_first_round_};
    }
    known.last = std::move(now);
    known.lease_is_known = true;
    if (!is_lock)
        locks_.erase(key);
    return changes;
}

void board::doubt_leases()
{
    for (auto& [key, each] : locks_)
        each.lease_is_known = false;
}

void board::clear()
{
    locks_.clear();
    is_first_round_ = true;
}

std::vector<std::string> board::keys() const
{
    std::vector<std::string> all;
    all.reserve(locks_.size());
    for (auto const& [key, each] : locks_)
        all.push_back(key);
    return all;
}

boost::json::array board::to_json() const
{
    boost::json::array all;
    for (auto const& [key, each] : locks_) {
        auto p = each.last.found;
        auto const waiting = std::max(p.listeners.value_or(0), count(p.queue));
        p.queue.clear();
        p.more_holders += std::max<std::int64_t>(0, count(p.holders) - holders_a_lock);
        if (count(p.holders) > holders_a_lock)
            p.holders.resize(holders_a_lock);
        auto made = cli::to_json(p);
        made["waiting"] = waiting;
        for (std::size_t i = 0; i != p.holders.size(); ++i) {
            auto const& seen = each.holders.at(p.holders[i].field);
            auto& one = made["holders"].as_array()[i].as_object();
            one["seen_at"] = milliseconds_of(seen.first);
            one["seen_to_come"] = seen.saw_it_come;
        }
        all.push_back(std::move(made));
    }
    return all;
}

}  // namespace cli::web
