// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/contest.hpp"
#include "support/black_hole.hpp"
#include "support/sentinel_group.hpp"
#include "unit/random_seed.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

/// A sentinel group whose primary is killed, again and again, while processes work.
class sentinel_ordeal {
public:
    /// The processes ask these first, and then the Sentinels.
    sentinel_ordeal(
        server_kind, contest_plan const&, std::vector<address> const& others_first = {}
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
    bool is_primary(std::size_t);

    /// So many replicas as acquires want acknowledge what the primary writes.
    bool is_replicated();

    random_numbers dice_;
    sentinel_group group_;
    contest_plan plan_;
    std::optional<black_hole> gone_;
    contest contest_;
    std::vector<failover> all_;
};

}  // namespace colock::test
