#pragma once

#include "decide/copies.hpp"
#include "decide/slot_map.hpp"
#include <colock/config.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace colock::decide {

/// How many replicas each primary has: the most that this client has seen or been told of. The
/// number that is attached just now is no measure, because a primary that was cut off has none.
class known_replicas {
public:
    /// Of this primary, for good.
    unsigned& of(address const& primary)
    {
        for (auto& [where, most] : all_)
            if (where == primary)
                return most;
        return all_.emplace_back(primary, 0U).second;
    }

    /// There are so many.
    void note(address const& primary, unsigned seen)
    {
        unsigned& most = of(primary);
        most = std::max(most, seen);
    }

    /// A cluster's new map, and the one until now. A replica that becomes the primary has as many
    /// as the one before it, of which one may be that one. It is asked by its address before a map
    /// says so, or counts that one. A map leaves out those that are away.
    void note(std::vector<slot_range> const& ranges, slot_map const& until_now)
    {
        auto const is_gone = [&](address const& node) {
            return std::ranges::find(ranges, node, &slot_range::primary) == ranges.end();
        };
        auto const is_new = [&](address const& node) {
            auto const& nodes = until_now.nodes();
            auto const at = std::ranges::find(nodes, node) - nodes.begin();
            return !until_now.serves(static_cast<unsigned>(at));
        };
        for (auto const& range : ranges) {
            note(range.primary, static_cast<unsigned>(range.replicas.size()));
            for (auto const& each : range.replicas)
                note(each, of(range.primary));
            auto const last = until_now.owner_of(range.first);
            if (last == slot_map::nobody)
                continue;
            auto const& before = until_now.nodes()[last];
            if (is_gone(before) && is_new(range.primary))  // else its slots have only moved
                note(range.primary, of(before));
        }
    }

private:
    std::deque<std::pair<address, unsigned>> all_;  ///< whose elements stay in place
};

/// The answers of a server to the questions about copies.
struct copies_told {
    bool is_wait_refused = false;
    bool is_disk_refused = false;  ///< WAITAOF
    bool has_no_aof = false;

    /// Why it can never have these copies, with the remedy; empty if it can.
    std::string why_not(copies const& wanted, unsigned there) const
    {
        if (wanted.wants_disk() && is_disk_refused)
            return "the server lacks WAITAOF or refuses it to this user. Remedy: Redis 7.2 or "
                   "Valkey, +waitaof, or another durability than disk";
        if (wanted.wants_disk() && has_no_aof)
            return "the server writes no append-only file. Remedy: appendonly yes, or another "
                   "durability than disk";
        if (is_wait_refused && wanted.replicas(there) != 0)
            return "the server lacks WAIT or refuses it to this user. Remedy: +wait, or no "
                   "durability";
        if (wanted.can_be_had(there))
            return {};
        auto const asked = wanted.replicas(there);
        return std::to_string(asked) + (asked == 1 ? " replica has" : " replicas have") +
            " to acknowledge each step, and the server has " + std::to_string(there) +
            " as far as is known. Remedy: attach them, set config::replicas if they are only away, "
            "or ask for less (durability, sync_replicas)";
    }
};

}  // namespace colock::decide
