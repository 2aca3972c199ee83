#pragma once

#include "decide/copies.hpp"
#include <colock/config.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

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
