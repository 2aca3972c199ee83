// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/dice.hpp"
#include <colock/config.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

using std::chrono::milliseconds;

/// Every lock and counter of the library.
enum class kind { plain, spin, fenced, fair, read_write, multi, red, semaphore, permits, latch };
std::string_view name_of(kind) noexcept;

/// What can go wrong.
enum class fault_kind {
    cut_commands,
    cut_pubsub,
    cut_one,  ///< of the connections, whatever it carries
    part,
    slow,
    lossy,
    stand_still,
    suspend,  ///< the same, of the whole machine
    die,
    destroy_client,
    close_client,
    refuse,
    forget_scripts,
    server_down,
    lag,            ///< replicas acknowledge nothing
    late_replicas,  ///< they take their time
    fail_over,
    restart_empty,
    clock_jump,
    force,
    move_slot
};
std::string_view name_of(fault_kind) noexcept;

/// Somebody breaks a rule on purpose, and the judge must find it.
enum class mutant {
    none,
    release_ignores_owner,  ///< the script removes whatever is there
    renewal_revives,        ///< the script sets what it doesn't find
    renewal_is_short,       ///< the script sets three quarters of the lease
    acquire_ignores_owner,  ///< the script grants what somebody else has
    tokens_fall,            ///< a server that lost its data begins at 1
    messages_vanish,        ///< no message ever arrives
    turn_is_lost,           ///< a release tells nobody in the wait list, now and then
    grant_is_kept,          ///< releases are answered and not run, now and then
    slow_clock,             ///< clients' clocks are 3 % slow: they trust too long
    permits_never_end,      ///< the semaphore's script gives one more than there are
    latch_opens_early,      ///< a latch goes with its first count
    claim_stays,            ///< whoever adopts a lock leaves its claim good
    force_is_silent,        ///< the holder of a forced lock is not told
    wait_lies,              ///< WAIT says that all replicas have what none has
    raise_is_ignored,       ///< a server answers a raised token, and keeps its counter
    all_vote                ///< a server that has restarted empty says that it has been up for long
};
std::string_view name_of(mutant) noexcept;

/// By their names; throw std::invalid_argument for others.
kind kind_named(std::string_view);
fault_kind fault_named(std::string_view);
mutant mutant_named(std::string_view);

/// What world there is, who does what in it, and what goes wrong. All numbers not given here come
/// from the seed.
struct scenario {
    std::string name;
    int machines = 3;
    int tasks = 8;    ///< on each machine
    int servers = 1;  ///< red and multi locks are spread over them; the others are at the first
    int shards = 1;   ///< more: the first server is a cluster
    std::vector<std::pair<kind, int>> objects{{kind::plain, 4}};
    config settings{};
    moment length = std::chrono::seconds{60};
    moment shortest_stay{}, longest_stay = std::chrono::milliseconds{5};
    moment shortest_pause{}, longest_pause = std::chrono::milliseconds{20};

    // Of a hundred sections, or of a hundred waits.
    unsigned writes = 40;  ///< the others read
    unsigned own_leases = 0;
    unsigned renewed_leases = 0;  ///< of the own ones
    unsigned re_entries = 0;
    unsigned own_terms = 0;  ///< of the re-entries: another lease, replicas, a moment of their own
    unsigned outer_first = 0;  ///< of those with re-entries: the outer hold ends before the inner
    unsigned extensions = 0;
    unsigned at_least = 0;
    unsigned cancellations = 0;
    unsigned tries = 0;
    unsigned timed_tries = 0;
    unsigned drops = 0;
    unsigned gifts = 0;       ///< the lock is given away; half of those who come then adopt it
    unsigned coroutines = 0;  ///< with_lock
    unsigned long_stays = 0;  ///< some leases long
    int permits = 3;
    int most_re_entries = 1;
    int most_extensions = 1;

    // Of a hundred clients.
    unsigned hold_limits = 0;   ///< have a `config::max_hold`
    unsigned loss_margins = 0;  ///< have a `config::loss_margin`

    /// Every so many machines one has an id as Redisson's and those of older versions: while it
    /// holds a lock, the others expect that its release tells no list. 0: none.
    int older_ids = 4;

    std::vector<std::pair<fault_kind, unsigned>> faults;  ///< with their weights
    moment between_faults = std::chrono::seconds{2};
    bool has_drift = true;

    /// A connection that is replaced is ended at the server, by CLIENT KILL. If not, what was on
    /// its way may run later.
    bool may_kill = true;

    /// Of so many of a hundred connections that break, what is on its way comes late: at most by
    /// two leases.
    unsigned held_up = 0;

    /// The longest that anybody waits for a lock as long as nothing goes wrong.
    moment longest_wait = std::chrono::seconds{20};

    mutant broken = mutant::none;
};

/// What is run: all of a scenario by a seed, or a part of that.
struct recipe {
    std::uint64_t seed = 1;
    std::uint64_t luck = 0;  ///< of packets alone: other delays, and all else as it is
    std::set<int> without_machines;
    std::set<int> without_tasks;
    std::set<int> without_faults;
    std::uint64_t sections = ~std::uint64_t{};  ///< of each task, at most
    moment length{};                            ///< zero: the scenario's

    std::string describe() const;  ///< as arguments of colock-simulate
};

/// The scenarios by name; throws std::invalid_argument for others.
scenario scenario_named(std::string_view name);
std::vector<std::string> scenario_names();

}  // namespace colock::simulation
