// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "verdict.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace cli {

using colock::durability;
using colock::topology;

namespace {

using state = failover_condition::state;

struct state_found {
    state is;
    std::string found;
};

/// Of all servers, because each may be the primary next: what the worst of them says.
template <class Value, class IsGood, class Tell>
state_found of_all(
    failover_facts const& f,
    std::optional<Value> copy_settings::*what,
    IsGood const& is_good,
    Tell const& tell
)
{
    state_found worst{state::met, {}};
    for (auto const& each : f.servers) {
        auto const& value = each.*what;
        if (value && is_good(*value)) {
            if (worst.found.empty())
                worst.found = tell(*value);
            continue;
        }
        if (worst.is != state::violated)
            worst = {
                value ? state::violated : state::not_told,
                each.place + (value ? ": " + tell(*value) : " does not tell")};
    }
    bool const is_unseen = f.servers.size() < f.replicas + 1U;
    if (worst.is == state::met && is_unseen)
        worst = {state::not_told, "not all replicas are attached"};
    return worst;
}

std::string digits(unsigned n) { return std::to_string(n); }

state_found judge_profile(failover_facts const& f)
{
    constexpr std::array names{"none", "replica", "majority", "all", "disk"};
    auto const asked = colock::replicas_for(f.profile, f.replicas);
    auto const needed = colock::replicas_for(durability::majority, f.replicas);
    auto const found = std::string{names.at(static_cast<std::size_t>(f.profile))} + ": " +
        digits(asked) + " of " + digits(f.replicas) + (f.replicas == 1 ? " replica" : " replicas");
    return {asked >= needed ? state::met : state::violated, found};
}

state_found judge_priorities(failover_facts const& f)
{
    std::optional<unsigned> first;
    for (auto const& each : f.servers) {
        if (!each.priority)
            return {state::not_told, each.place + " does not tell"};
        // A replica that is never promoted is preferred to nobody.
        if (*each.priority == 0)
            continue;
        if (first && *first != *each.priority)
            return {
                state::violated,
                digits(std::min(*first, *each.priority)) + " and " +
                    digits(std::max(*first, *each.priority))};
        first = each.priority;
    }
    return {state::met, first ? digits(*first) : "nobody is promoted"};
}

state_found judge_clocks(failover_facts const& f)
{
    auto const drift = f.lease / 100 + milliseconds{2};  // which a lease allows for
    auto const most = drift / 2;
    std::chrono::microseconds least{0}, longest{0};
    for (auto const& each : f.servers) {
        if (!each.clock)
            return {state::not_told, each.place + " does not tell"};
        least = std::min(least, *each.clock);
        longest = std::max(longest, *each.clock);
    }
    auto const apart = std::chrono::duration_cast<milliseconds>(longest - least);
    return {
        longest - least <= most ? state::met : state::violated,
        std::to_string(apart.count()) + " ms apart"};
}

state_found judge_sentinels(failover_facts const& f)
{
    if (!f.sentinels || !f.quorum)
        return {state::not_told, "no Sentinel tells"};
    bool const is_good = *f.sentinels >= 3 && *f.quorum > *f.sentinels / 2;
    return {
        is_good ? state::met : state::violated,
        digits(*f.sentinels) + (*f.sentinels == 1 ? " Sentinel" : " Sentinels") + ", quorum " +
            digits(*f.quorum)};
}

using conditions = std::vector<failover_condition>;

void add(
    conditions& to,
    char const* name,
    char const* what,
    char const* loses,
    bool is_for_all,
    state_found const& how
)
{
    to.push_back({name, what, loses, is_for_all, how.is, how.found});
}

void judge_election(failover_facts const& f, conditions& to)
{
    add(to,
        "profile",
        "durability is majority or more",
        "the last moment before a kill",
        true,
        judge_profile(f));
    if (f.topology != topology::cluster)
        add(to,
            "priority",
            "replica-priority is the same everywhere",
            "what the preferred replica lacks",
            false,
            judge_priorities(f));
    add(to,
        "paused",
        "failovers by hand pause the primary: FAILOVER, CLUSTER FAILOVER, COORDINATED "
        "(--failovers paused)",
        "acknowledged locks of the time between, in a SENTINEL FAILOVER of a living primary",
        false,
        {f.are_paused ? state::met : state::not_told, f.are_paused ? "said so" : "not said"});
    if (f.topology == topology::sentinel)
        add(to,
            "sentinels",
            "3 Sentinels or more, and a quorum of a majority of them",
            "locks of two primaries at once",
            false,
            judge_sentinels(f));
}

void judge_cut_off(failover_facts const& f, conditions& to)
{
    auto const asked = colock::replicas_for(f.profile, f.replicas);
    auto const writers = std::max(f.replicas + 1U - std::min(asked, f.replicas), 1U);
    add(to,
        "min-replicas",
        "min-replicas-to-write is at least replicas - acknowledgements + 1",
        "renewals beside a half that is cut off",
        false,
        of_all(
            f,
            &copy_settings::min_replicas,
            [writers](unsigned n) { return n >= writers; },
            [writers](unsigned n) { return digits(n) + " of " + digits(writers); }
        ));
    add(to,
        "cut-off",
        "min-replicas-to-write is at least 1",
        "locks of clients without a profile, of Redisson too, beside a primary that is cut off",
        true,
        of_all(
            f, &copy_settings::min_replicas, [](unsigned n) { return n >= 1; }, &digits
        ));
    add(to,
        "lag",
        "min-replicas-max-lag is shorter than a third of the lease, and not 0",
        "locks beside a primary that is cut off",
        true,
        of_all(
            f,
            &copy_settings::max_lag,
            [&f](unsigned n) { return n != 0 && 3 * std::chrono::seconds{n} < f.lease; },
            [](unsigned n) { return digits(n) + " s"; }
        ));
}

void judge_servers(failover_facts const& f, conditions& to)
{
    add(to,
        "aof",
        "servers have AOF (appendonly yes), so none begins empty",
        "everything, when a primary is restarted empty and the replicas copy it",
        true,
        of_all(
            f,
            &copy_settings::has_aof,
            [](bool has) { return has; },
            [](bool has) { return std::string{has ? "yes" : "no"}; }
        ));
    add(to,
        "eviction",
        "maxmemory-policy is noeviction, at replicas too",
        "evicted locks",
        true,
        of_all(
            f,
            &copy_settings::eviction,
            [](std::string const& policy) { return policy == "noeviction"; },
            [](std::string const& policy) { return policy; }
        ));
    add(to,
        "clocks",
        "clocks of all servers are within half of the drift (1 % of the lease and 2 ms)",
        "the time by which the next primary ends leases earlier",
        true,
        judge_clocks(f));
}

}  // namespace

// Without replicas nothing fails over, and with all of them in each lock it does not matter which
// one does.
failover_verdict judge_failover(failover_facts const& f)
{
    using loss = failover_verdict::loss;
    if (f.replicas == 0)
        return {loss::no, false, {}};
    failover_verdict made;
    for (auto* const judge : {&judge_election, &judge_cut_off, &judge_servers})
        judge(f, made.conditions);
    auto const is_met = [](failover_condition const& c) { return c.is == state::met; };
    bool const has_all = colock::replicas_for(f.profile, f.replicas) >= f.replicas;
    bool const is_safe = std::ranges::all_of(made.conditions, [&](failover_condition const& c) {
        return !c.is_for_all || is_met(c);
    });
    if (has_all && is_safe)
        made.can_lose = loss::no;
    else if (std::ranges::all_of(made.conditions, is_met))
        made.can_lose = loss::not_by_one_fault;
    return made;
}

}  // namespace cli
