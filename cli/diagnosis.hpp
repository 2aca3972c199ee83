// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/admin/reply.hpp>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

using colock::admin::reply;

/// The result of one check.
struct finding {
    enum class level {
        good,  ///< as it should be
        note,  ///< worth knowing
        bad    ///< it will hurt locks
    };

    level how = level::good;
    std::string check;
    std::string found;
    std::string meaning;  ///< for locks, and what can be done
};

/// The reply to INFO, or to another command that answers `name:value` lines.
class fields {
public:
    explicit fields(reply const&);

    bool empty() const noexcept { return values_.empty(); }
    bool has(std::string_view name) const { return values_.contains(name); }
    std::string text(std::string_view name) const;
    double number(std::string_view name) const;

private:
    std::map<std::string, std::string, std::less<>> values_;
};

// Each judges by what a server says of itself; the other replies are those to CONFIG GET.
finding judge_version(fields const& info);
finding judge_eviction(fields const& info);
finding judge_memory(fields const& info);
finding judge_persistence(fields const& info, reply const& save, reply const& fsync);
finding judge_replicas(fields const& info);
finding judge_connections(fields const& info);
finding judge_cluster(fields const& cluster_info);

/// A server of a red lock, as INFO shows it.
struct part {
    std::string place;
    std::string run_id;   ///< of its process
    std::string history;  ///< whose writes it has (master_replid): a replica has its primary's
};

/// Beside the parts that were met before: one that is another one, or its copy, is no part of its
/// own.
finding judge_part(part const& own, std::vector<part> const& before);

/// Of a server of a red lock: whether it may vote at once after a restart
/// (`config::vote_after` 0).
finding judge_votes(fields const& info, reply const& fsync);

/// By what the client is refused; `can_ask` is false before 7.0, where it isn't known ahead.
std::vector<finding> judge_permissions(
    std::vector<std::string> const& refusals, reply const& client_kill, bool can_ask
);

/// By the times of some PINGs and the server's own pauses.
finding judge_delays(std::vector<std::chrono::microseconds> pings, fields const& info);

/// How many seconds of the server went by in `own`, both known to `uncertainty`.
finding judge_clock(
    std::chrono::microseconds server,
    std::chrono::microseconds own,
    std::chrono::microseconds uncertainty
);

}  // namespace cli
