#include "decide/long_times.hpp"
#include "decide/seconds.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock {

using decide::in_seconds;

namespace {

/// A look walks over all that is held: at most so many in the time of the shorter limit.
constexpr int most_looks = 8;
constexpr std::chrono::milliseconds shortest_between_looks{20};

}  // namespace

long_times::long_times(limits of, time_point last_look, time_point now)
    : limits_{of}
    , last_look_{last_look}
    , now_{now}
{}

bool long_times::has_become_long(std::optional<milliseconds> limit, time_point since)
{
    if (!limit)
        return false;
    auto const at = since + *limit;
    if (at > now_)
        next_ = std::min(next_, at);
    return at > last_look_ && at <= now_;
}

void long_times::waits(std::string_view kind, std::string const& key, owner, time_point since)
{
    if (!has_become_long(limits_.wait, since))
        return;
    auto& one = waits_[key];
    one.since = one.calls == 0 ? since : std::min(one.since, since);
    ++one.calls;
    one.is_group = kind == "group";
}

void long_times::holds(
    std::string_view, std::string const& key, std::string id, owner, time_point since
)
{
    if (has_become_long(limits_.hold, since))
        held_.push_back(
            "hold of " + key + ": held for " + in_seconds(now_ - since) + " so far, as " + id
        );
    if (auto const waited = waits_.find(key); waited != waits_.end()) {
        waited->second.holder = std::move(id);
        waited->second.held_since = since;
    }
}

std::vector<std::string> long_times::wait_lines() const
{
    std::vector<std::string> all;
    for (auto const& [key, of] : waits_) {
        auto line = "wait for " + key + ": " + in_seconds(now_ - of.since) + " so far";
        if (of.calls > 1)
            line += ", the longest of " + std::to_string(of.calls) + " calls";
        line += of.holder.empty()
            ? "; 'colock info" + (of.is_group ? "' for each of them" : ' ' + key + '\'') +
                " says who holds it"
            : "; held by this client for " + in_seconds(now_ - of.held_since) + ", as " + of.holder;
        all.push_back(std::move(line));
    }
    return all;
}

// A wait or a hold that begins after this look needs the shorter limit to become long.
decide::time_point long_times::next_look() const noexcept
{
    constexpr milliseconds longest_pause = std::chrono::hours{1};
    auto const least = std::min(
        {limits_.wait.value_or(longest_pause), limits_.hold.value_or(longest_pause), longest_pause}
    );
    auto const pause = std::max(shortest_between_looks, least / most_looks);
    return std::max(now_ + pause, std::min(next_, now_ + least));
}

}  // namespace colock
