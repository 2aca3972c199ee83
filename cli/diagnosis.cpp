// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "diagnosis.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cli {

using level = finding::level;

namespace {

std::string in_ms(std::chrono::microseconds d)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(d.count()) / 1000);
    return text;
}

std::string in_mib(double bytes)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.0f MiB", bytes / (1 << 20));
    return text;
}

/// The value in a reply to CONFIG GET; nothing if it was refused.
std::string config_value(reply const& r)
{
    return r.items.size() == 2 ? r.items[1].text : std::string{};
}

bool is_older(std::string const& version, std::array<int, 3> than)
{
    std::array<int, 3> parts{};
    std::sscanf(version.c_str(), "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
    return parts < than;
}

}  // namespace

fields::fields(reply const& r)
{
    if (r.what != reply::kind::text)
        return;
    std::string_view rest{r.text};
    if (rest.starts_with("txt:"))  // how RESP3 marks some texts
        rest.remove_prefix(4);
    while (!rest.empty()) {
        auto const line = rest.substr(0, rest.find_first_of("\r\n"));
        auto const colon = line.find(':');
        if (colon != line.npos)
            values_.emplace(line.substr(0, colon), line.substr(colon + 1));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
}

std::string fields::text(std::string_view name) const
{
    auto const at = values_.find(name);
    return at == values_.end() ? std::string{} : at->second;
}

double fields::number(std::string_view name) const { return std::atof(text(name).c_str()); }

finding judge_version(fields const& info)
{
    auto const valkey = info.text("valkey_version");
    auto const version = info.text("redis_version");
    auto const name = valkey.empty() ? "Redis " + version : "Valkey " + valkey;
    if (is_older(version, {6, 0, 6}))
        return {level::bad, "version", name, "colock needs 6.0.6 or newer: upgrade"};
    if (is_older(version, {7, 0, 0}))
        return {
            level::note,
            "version",
            name,
            "works; missing permissions show at first use only, and a cluster tells each release "
            "to all its nodes (7.0 has sharded channels)"};
    return {level::good, "version", name, {}};
}

finding judge_eviction(fields const& info)
{
    auto const policy = info.text("maxmemory_policy");
    if (policy.empty())
        return {
            level::note,
            "eviction",
            "not told",
            "the server doesn't say what goes when memory is full; it has to be noeviction"};
    if (policy == "noeviction")
        return {level::good, "eviction", policy, {}};
    if (info.number("maxmemory") == 0)
        return {
            level::note,
            "eviction",
            policy + ", without a limit (maxmemory 0)",
            "evicts nothing now; with a limit it would take locks away from their holders. "
            "CONFIG SET maxmemory-policy noeviction"};
    return {
        level::bad,
        "eviction",
        policy,
        "when memory is full, held locks are deleted and others get in, unnoticed until the next "
        "renewal. CONFIG SET maxmemory-policy noeviction"};
}

finding judge_memory(fields const& info)
{
    double const used = info.number("used_memory"), limit = info.number("maxmemory");
    if (limit == 0)
        return {level::good, "memory", in_mib(used) + " used, no limit", {}};
    auto const found = in_mib(used) + " of " + in_mib(limit) + " used";
    if (used < 0.9 * limit)
        return {level::good, "memory", found, {}};
    return {
        level::bad,
        "memory",
        found,
        "when it is full, acquire is refused (OOM); renewal and release go on. Raise maxmemory, or "
        "store less"};
}

finding judge_persistence(fields const& info, reply const& save, reply const& fsync)
{
    bool const has_aof = info.number("aof_enabled") != 0;
    bool const has_save = !config_value(save).empty();
    auto const failing = info.text("rdb_last_bgsave_status") == "err" ||
        (has_aof && info.text("aof_last_write_status") == "err");
    if (failing)
        return {
            level::bad,
            "persistence",
            "the last write to disk has failed",
            "the server may refuse all writes (MISCONF), and with them every acquire. Its log says "
            "why; look at the disk"};
    if (has_aof) {
        auto const how = config_value(fsync);
        if (how == "always")
            return {level::good, "persistence", "AOF, each write at once", {}};
        return {
            level::good,
            "persistence",
            "AOF" + (how.empty() ? how : ", " + how),
            "a crash of the machine forgets the locks of the last second or so; fencing tokens go "
            "on rising"};
    }
    if (has_save)
        return {
            level::note,
            "persistence",
            "snapshots (save " + config_value(save) + ")",
            "after a crash, locks acquired since the last one are free at once, and some that were "
            "released are back until their leases end. Let the resource check tokens, or turn AOF "
            "on"};
    return {
        level::note,
        "persistence",
        save.items.empty() ? "no AOF; snapshots not told" : "none",
        "after a restart every lock is free at once: a second holder may get in before the first "
        "is told. Let the resource check tokens, or turn AOF on"};
}

finding judge_replicas(fields const& info)
{
    if (info.text("role") == "slave")
        return {
            level::bad,
            "replicas",
            "this is a replica of " + info.text("master_host"),
            "no lock can be taken here (READONLY). Name the primary, or use redis+sentinel://"};
    auto const count = static_cast<int>(info.number("connected_slaves"));
    if (count == 0)
        return {
            level::good,
            "replicas",
            "none",
            "nothing fails over: while the server is down, nobody gets a lock"};
    int late = 0;
    for (int i = 0; i != count; ++i) {
        auto const one = info.text("slave" + std::to_string(i));
        if (one.find("state=online") == one.npos)
            ++late;
    }
    auto const found = counted(count, "replica") +
        (late ? ", " + std::to_string(late) + " not in step" : std::string{});
    return {
        late ? level::bad : level::note,
        "replicas",
        found,
        "replication is asynchronous: a failover may forget the last locks and admit a second "
        "holder. durability makes it rarer or rules it out, checking tokens makes it harmless"};
}

finding judge_connections(fields const& info)
{
    double const now = info.number("connected_clients"), most = info.number("maxclients");
    auto const found = std::to_string(static_cast<long>(now)) +
        (most > 0 ? " of " + std::to_string(static_cast<long>(most)) : std::string{});
    if (most > 0 && now > 0.9 * most)
        return {
            level::bad,
            "connections",
            found,
            "when there are no more, a client that reconnects is turned away, and its holds are "
            "lost. Raise maxclients"};
    return {level::good, "connections", found, {}};
}

finding judge_cluster(fields const& cluster)
{
    if (!cluster.has("cluster_state"))
        return {
            level::note,
            "cluster",
            "not told",
            "whether all slots are served isn't known. ACL SETUSER ... +cluster|info"};
    auto const state = cluster.text("cluster_state");
    auto const slots = cluster.text("cluster_slots_ok") + " of 16384 slots served";
    if (state == "ok")
        return {level::good, "cluster", slots, {}};
    return {
        level::bad,
        "cluster",
        "state " + state + ", " + slots,
        "locks in slots that nobody serves can't be taken or renewed. redis-cli --cluster check"};
}

std::vector<finding> judge_permissions(
    std::vector<std::string> const& refusals, reply const& client_kill, bool can_ask
)
{
    std::vector<finding> all;
    for (auto const& line : refusals) {
        bool const is_bad = line.find("those will fail") != line.npos;
        all.push_back({is_bad ? level::bad : level::note, "permissions", line, {}});
    }
    if (client_kill.what == reply::kind::error && client_kill.text.starts_with("NOPERM"))
        all.push_back(
            {level::note,
             "permissions",
             "CLIENT KILL is refused",
             "after a cut connection, what was in its buffers may run late: a lock that nobody "
             "holds, for one lease. ACL SETUSER ... +client|kill"}
        );
    if (all.empty())
        all.push_back(
            {can_ask ? level::good : level::note,
             "permissions",
             can_ask ? "all that locks need" : "not known",
             can_ask ? ""
                     : "servers before 7.0 don't tell ahead; docs/deployments.md has the rules"}
        );
    return all;
}

finding judge_part(part const& own, std::vector<part> const& before)
{
    auto const is_same = [](std::string const& one, std::string const& other) {
        return !one.empty() && one == other;
    };
    auto const is_told = [](part const& p) { return !p.run_id.empty() && !p.history.empty(); };
    std::string unknown = is_told(own) ? std::string{} : own.place;
    for (auto const& other : before) {
        bool const is_one = is_same(own.run_id, other.run_id);
        if (is_one || is_same(own.history, other.history))
            return {
                level::bad,
                "part",
                (is_one ? "the same server as " : "has the writes of ") + other.place,
                "a red lock counts it as two, and one fault takes both. Name servers that do not "
                "copy each other"};
        if (unknown.empty() && !is_told(other))
            unknown = other.place;
    }
    if (unknown.empty())
        return {level::good, "part", "none of the others, nor a copy of one", {}};
    return {
        level::note,
        "part",
        "not known: INFO of " + unknown + " does not tell",
        "if it is a copy of another part, one fault takes both. ACL SETUSER ... +info"};
}

finding judge_votes(fields const& info, reply const& fsync)
{
    bool const has_aof = info.number("aof_enabled") != 0;
    auto const how = config_value(fsync);
    if (has_aof && how == "always")
        return {level::good, "votes", "loses no lock in a restart: vote_after may be 0", {}};
    if (!info.has("aof_enabled") || (has_aof && how.empty()))
        return {
            level::note,
            "votes",
            "not known whether it loses locks in a restart",
            "vote_after must not be 0 then. ACL SETUSER ... +info +config|get"};
    return {
        level::note,
        "votes",
        "may lose locks in a restart",
        "so vote_after must not be 0: unset, it is the longest lease that a red lock knows. With "
        "appendonly yes and appendfsync always it may be 0"};
}

finding judge_delays(std::vector<std::chrono::microseconds> pings, fields const& info)
{
    using namespace std::chrono_literals;
    std::ranges::sort(pings);
    auto found = "PING " + in_ms(pings[pings.size() / 2]) + ", at most " + in_ms(pings.back());
    auto const fork = std::chrono::microseconds{std::llround(info.number("latest_fork_usec"))};
    if (fork.count() > 0)
        found += "; the last fork " + in_ms(fork);
    auto const worst = std::max(pings.back(), fork);
    if (worst < 100ms)
        return {level::good, "delays", found, {}};
    return {
        worst < 1s ? level::note : level::bad,
        "delays",
        found,
        "leases have to be many times as long: at 30 s a hold is lost when renewals fail for 19 s, "
        "at 1 s when they fail for half a second"};
}

finding judge_clock(
    std::chrono::microseconds server,
    std::chrono::microseconds own,
    std::chrono::microseconds uncertainty
)
{
    auto const percent = [&](std::chrono::microseconds d) {
        return 100 * static_cast<double>(d.count()) / static_cast<double>(own.count());
    };
    double const off = percent(server - own), unsure = percent(uncertainty);
    char found[80];
    std::snprintf(found, sizeof found, "%+.3f %% against ours (known to %.3f %%)", off, unsure);
    if (std::abs(off) - unsure > 1)
        return {
            level::bad,
            "clock rate",
            found,
            "more than the 1 % that validity allows for: a lock may pass on while its holder still "
            "believes in it. Look at NTP on both machines; a clock that is being set counts, too"};
    if (unsure > 1)
        return {level::note, "clock rate", found, "the way to the server is too uneven to tell"};
    return {level::good, "clock rate", found, {}};
}

}  // namespace cli
