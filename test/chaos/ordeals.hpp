// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/contest.hpp"
#include "support/ports.hpp"
#include "support/redis_cluster.hpp"
#include "support/seed.hpp"
#include "support/sentinel_group.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

/// 64 tasks on 200 keys, four of them in each of 50 slots.
inline constexpr contest_plan many_slots{
    .processes = 8,
    .quick_tasks = 7,
    .sitters = 1,
    .quick_keys = 184,
    .sitter_keys = 16,
    .groups = 50,
    .lease_ms = 8'000,
    .sync_replicas = 0,
    .longest_break_ms = 40};

/// A cluster whose slots move and whose primaries go away while processes work.
class cluster_ordeal {
public:
    /// The processes ask these first, and then the nodes.
    explicit cluster_ordeal(
        server_kind,
        std::vector<address> const& others_first = {},
        contest_plan const& plan = many_slots
    );

    /// A slot whose keys are in use goes elsewhere. For a while some are here and some are there.
    void migrate(int half_moved_ms);

    /// The primary of a slot, and with it those of a third of all slots.
    void kill();

    /// The same primary stands still: it accepts connections and answers nothing, until another has
    /// its place.
    void hang();

    /// Its machine loses its power: nothing answers at its address.
    void power_off();

    /// Its replica takes its place while it lives, as an operator has told it.
    void switch_over();

    void finish(std::string const& title);
    void report_moves();
    void report_kills();

    contest_board& board() { return contest_.board(); }

    /// Locks that nobody had after a failover, and nobody could get before their leases ended.
    std::size_t orphans() const noexcept { return unheard_.size(); }

private:
    enum class loss { killed, hanging, without_power, replaced };

    void fail_over(loss how);
    void take_away(std::size_t node, loss how);

    /// Those that wait yet wait for what was given back at the last moment, which the replica
    /// hasn't heard: it is nobody's, until its lease ends.
    void see_off(std::vector<contest::waiting_task> const& unserved, contest::time killed);

    void work_for(int ms);
    unsigned slot_of(int group) { return cluster_.slot_of(plan_.name_of(group)); }
    std::vector<int> quick_keys_of(std::vector<int> const& groups) const;
    std::vector<int> groups_at(std::size_t node);
    std::size_t another_primary(std::size_t than);
    std::int64_t stands_still(std::vector<int> const& keys);

    random_numbers dice_;
    redis_cluster cluster_;
    contest_plan plan_;
    std::optional<black_hole> gone_;
    contest contest_;
    std::vector<std::int64_t> before_, whole_, half_, again_;
    std::vector<std::int64_t> outages_, waiting_, working_;
    std::set<int> unheard_;
    std::vector<contest::loss_of_keys> losses_;
};

/// A sentinel group whose primary is killed, again and again, while processes work.
class sentinel_ordeal {
public:
    /// The processes ask these first, and then the Sentinels. `data_lines`: of the data servers.
    sentinel_ordeal(
        server_kind,
        contest_plan const&,
        std::vector<address> const& others_first = {},
        std::vector<std::string> const& data_lines = {}
    );

    /// The primary is killed, and what it has answered last few milliseconds ago the replicas have
    /// or not, as it happens.
    void kill();

    /// The primary stands still: it accepts connections and answers nothing, until another has its
    /// place.
    void hang();

    /// The primary's machine loses its power: nothing answers at its address.
    void power_off();

    /// The replicas have heard nothing for the last 400 ms.
    void kill_unheard();

    /// A replica takes the place of the primary, which lives, as somebody has told the sentinels.
    void switch_over();

    void finish(std::string const& title);

    contest_board& board() { return contest_.board(); }

    /// Locks that nobody had after a failover, and nobody could get before their leases ended.
    int orphans() const noexcept { return orphans_; }

private:
    /// Times of one failover.
    struct failover {
        contest::time killed = 0;    ///< or told to go
        contest::time promoted = 0;  ///< the new primary says that it is one
        contest::time named = 0;     ///< and all sentinels do
        contest::time ready = 0;     ///< and as many replicas as acquires want acknowledge
        std::int64_t working = -1;   ///< milliseconds from `ready` until all processes were inside
        std::int64_t served = -1;    ///< and until all tasks were that had waited then
    };

    std::vector<std::size_t> all_but(std::size_t one) const;

    /// The load is what passes the time.
    void work_for(int ms);

    void take_over(std::size_t old, failover&, milliseconds back = back_to_work);
    void revive(std::size_t old);
    milliseconds time_to_connect() const { return milliseconds{plan_.lease_ms / 3}; }
    bool is_over(std::size_t old, failover&);

    /// Those that wait yet wait for what was given back in the last moment, which the replica
    /// hasn't heard: it is nobody's, until its lease ends.
    void see_off(std::vector<contest::waiting_task> const& unserved, contest::time unheard_since);

    /// The primary takes writes, and so many replicas as acquires want acknowledge them.
    bool is_replicated();

    random_numbers dice_;
    sentinel_group group_;
    contest_plan plan_;
    bool refuses_;  ///< while a server is away, acquires
    bool needs_all_servers_;
    std::optional<black_hole> gone_;
    contest contest_;
    std::vector<failover> all_;
    int orphans_ = 0;
};

}  // namespace colock::test
