#pragma once

#include "base/clock.hpp"
#include "decide/reply.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::testing {

using decide::reply;

/// All that is not of the code under test: who else has what, and who hears what is published.
struct outside {
    /// What PTTL says of what somebody else has, who renews it.
    static constexpr std::int64_t lease = 30'000;

    std::set<std::string> occupied;

    /// When the code under test was last refused something for it.
    std::map<std::string, time_point> refused;

    /// Sends a message to those who have subscribed: how many they are.
    std::function<std::int64_t(std::string const& channel, std::string payload)> publish;

    /// How many have subscribed; nobody unless it is set.
    std::function<std::int64_t(std::string const& channel)> subscribers;

    /// A refusal: a number, and how many subscribe to this channel unless it is empty.
    reply refuse(std::int64_t number, std::string const& channel) const
    {
        std::vector items{reply::of(number)};
        if (!channel.empty())
            items.push_back(reply::of(count(channel)));
        return reply::of(std::move(items));
    }

    std::int64_t count(std::string const& channel) const
    {
        return subscribers ? subscribers(channel) : 0;
    }

    /// Somebody else has it, and the code under test wants it.
    bool blocks(std::string const& key)
    {
        if (!occupied.contains(key))
            return false;
        refused[key] = clock::now();
        return true;
    }
};

inline milliseconds until(time_point at)
{
    return std::chrono::ceil<milliseconds>(at - clock::now());
}

}  // namespace colock::testing
