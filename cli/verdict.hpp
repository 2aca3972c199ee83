// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <colock/durability.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

// Whether a failover can lose a lock, by the profile of a client and what its servers say of
// themselves. docs/production.md has the same table.
namespace cli {

using std::chrono::milliseconds;

/// The settings of one server of a primary and its replicas. Nothing: it was not told.
struct copy_settings {
    std::string place{};
    std::optional<std::string> eviction{};   ///< maxmemory-policy
    std::optional<bool> has_aof{};           ///< appendonly
    std::optional<unsigned> min_replicas{};  ///< min-replicas-to-write
    std::optional<unsigned> max_lag{};       ///< min-replicas-max-lag, in seconds
    std::optional<unsigned> priority{};      ///< replica-priority
    std::optional<std::chrono::microseconds>
        clock{};  ///< how far it is ahead of the first server's
};

struct failover_facts {
    colock::durability profile = colock::durability::none;
    unsigned replicas = 0;  ///< that there should be
    milliseconds lease{30'000};
    colock::topology topology = colock::topology::single;
    bool are_paused = false;               ///< all failovers by hand pause the primary first
    std::vector<copy_settings> servers{};  ///< the primary first, then the replicas that are known
    std::optional<unsigned> sentinels{};   ///< that watch it
    std::optional<unsigned> quorum{};      ///< of these, to call it down
};

struct failover_condition {
    enum class state { met, violated, not_told };

    char const* name;   ///< a word for programs
    char const* what;   ///< that has to be so
    char const* loses;  ///< what a failover can lose otherwise
    bool is_for_all;    ///< needed although all replicas have each lock
    state is;
    std::string found;  ///< how it is
};

struct failover_verdict {
    enum class loss { no, not_by_one_fault, yes };

    loss can_lose = loss::yes;
    bool can_fail_over = true;  ///< there is a replica
    std::vector<failover_condition> conditions{};
};

failover_verdict judge_failover(failover_facts const&);

}  // namespace cli
