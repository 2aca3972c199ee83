// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/scenario.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace colock::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::array<std::string_view, 10> kind_names{
    "plain",
    "spin",
    "fenced",
    "fair",
    "read_write",
    "multi",
    "red",
    "semaphore",
    "permits",
    "latch"};

constexpr std::array<std::string_view, 21> fault_names{
    "cut commands",   "cut push",    "cut one",  "part",           "slow",         "lossy",
    "stand still",    "suspend",     "die",      "destroy client", "close client", "refuse",
    "forget scripts", "server down", "lag",      "late replicas",  "fail over",    "restart empty",
    "clock jump",     "force",       "move slot"};

constexpr std::array<std::string_view, 17> mutant_names{
    "none",
    "release_ignores_owner",
    "renewal_revives",
    "renewal_is_short",
    "acquire_ignores_owner",
    "tokens_fall",
    "messages_vanish",
    "turn_is_lost",
    "grant_is_kept",
    "slow_clock",
    "permits_never_end",
    "latch_opens_early",
    "claim_stays",
    "force_is_silent",
    "wait_lies",
    "raise_is_ignored",
    "all_vote"};

template <class Named, std::size_t Count>
Named named(std::array<std::string_view, Count> const& names, std::string_view name)
{
    auto const at = std::ranges::find(names, name);
    if (at == names.end())
        throw std::invalid_argument{"nothing in a world has this name: " + std::string{name}};
    return static_cast<Named>(at - names.begin());
}

}  // namespace

std::string_view name_of(kind k) noexcept { return kind_names[static_cast<std::size_t>(k)]; }
std::string_view name_of(fault_kind k) noexcept { return fault_names[static_cast<std::size_t>(k)]; }
std::string_view name_of(mutant m) noexcept { return mutant_names[static_cast<std::size_t>(m)]; }

kind kind_named(std::string_view name) { return named<kind>(kind_names, name); }
fault_kind fault_named(std::string_view name) { return named<fault_kind>(fault_names, name); }
mutant mutant_named(std::string_view name) { return named<mutant>(mutant_names, name); }

namespace {

/// Many tasks on two locks, without a pause.
scenario contended()
{
    scenario s;
    s.name = "contended";
    s.machines = 4;
    s.tasks = 4;
    s.objects = {{kind::plain, 2}};
    s.settings.poll_cap = 10s;  // a lost wake-up shows
    s.longest_stay = 1ms;
    s.longest_pause = 1ms;
    s.longest_wait = 5s;
    return s;
}

/// Every kind, and everything that can be asked of it, with nothing wrong.
scenario kinds()
{
    scenario s;
    s.name = "kinds";
    s.servers = 3;
    s.objects = {
        {kind::plain, 3},
        {kind::spin, 1},
        {kind::fenced, 1},
        {kind::fair, 2},
        {kind::read_write, 2},
        {kind::multi, 1},
        {kind::red, 1},
        {kind::semaphore, 2},
        {kind::permits, 2},
        {kind::latch, 1}};
    s.settings.lease = 2s;
    s.settings.timeout = 1s;
    s.longest_pause = 400ms;
    s.longest_stay = 40ms;
    s.own_leases = 20;
    s.re_entries = 10;
    s.extensions = 10;
    s.cancellations = 10;
    s.tries = 15;
    s.timed_tries = 20;
    s.drops = 20;
    s.gifts = 10;
    s.coroutines = 5;
    s.long_stays = 1;
    return s;
}

/// As the arena of the chaos tests: about 25 sections a second, under all faults.
scenario arena()
{
    auto s = kinds();
    s.name = "arena";
    s.length = 120s;
    s.longest_pause = 2s;
    s.between_faults = 1s;
    s.longest_wait = 30s;
    s.faults = {
        {fault_kind::cut_commands, 10},
        {fault_kind::cut_pubsub, 10},
        {fault_kind::part, 8},
        {fault_kind::slow, 6},
        {fault_kind::lossy, 6},
        {fault_kind::stand_still, 5},
        {fault_kind::suspend, 5},
        {fault_kind::die, 3},
        {fault_kind::destroy_client, 3},
        {fault_kind::close_client, 2},
        {fault_kind::refuse, 8},
        {fault_kind::forget_scripts, 3},
        {fault_kind::server_down, 4},
        {fault_kind::lag, 2},
        {fault_kind::fail_over, 2},
        {fault_kind::restart_empty, 1},
        {fault_kind::clock_jump, 1},
        {fault_kind::force, 2}};
    return s;
}

/// Faults that take nothing from the server: no overlap is excused.
scenario storm()
{
    auto s = arena();
    s.name = "storm";
    s.settings.lease = 500ms;
    s.settings.poll_cap = 200ms;
    s.longest_pause = 300ms;
    s.between_faults = 200ms;
    s.length = 60s;
    std::erase_if(s.faults, [](auto const& f) {
        return f.first == fault_kind::fail_over || f.first == fault_kind::restart_empty ||
            f.first == fault_kind::clock_jump || f.first == fault_kind::force;
    });
    return s;
}

/// Holds that are renewed and little else.
scenario idle()
{
    auto s = kinds();
    s.name = "idle";
    s.machines = 2;
    s.tasks = 3;
    s.settings.lease = 30s;
    s.length = 3600s;
    s.shortest_pause = 60s;
    s.longest_pause = 600s;
    s.long_stays = 20;
    s.cancellations = 2;
    s.extensions = 2;
    s.own_leases = 5;
    s.between_faults = 120s;
    s.longest_wait = 150s;
    s.faults = arena().faults;
    return s;
}

/// The server loses its last writes, again and again.
scenario failover()
{
    auto s = arena();
    s.name = "failover";
    s.servers = 1;
    s.objects = {{kind::plain, 3}, {kind::fair, 1}, {kind::read_write, 1}};
    s.longest_pause = 300ms;
    s.faults = {
        {fault_kind::fail_over, 5}, {fault_kind::cut_commands, 5}, {fault_kind::cut_pubsub, 5}};
    s.between_faults = 2s;
    return s;
}

/// The same, and each step of a lock waits for both replicas: no overlap is excused.
scenario synced()
{
    auto s = failover();
    s.name = "synced";
    s.settings.durability = durability::all;
    s.settings.replicas = 2;
    return s;
}

/// Three nodes that share the slots, which move.
scenario shards()
{
    auto s = storm();
    s.name = "shards";
    s.servers = 1;
    s.shards = 3;
    s.settings.topology = topology::cluster;
    s.settings.publish = publishing::sharded;
    s.settings.lease = 2s;
    std::erase_if(s.objects, [](auto const& o) {
        return o.first == kind::multi || o.first == kind::red;
    });
    s.faults.emplace_back(fault_kind::move_slot, 12);
    return s;
}

/// Holds on all terms that can be asked for, which change while they are held. Nothing is wrong.
scenario terms()
{
    auto s = kinds();
    s.name = "terms";
    s.tasks = 4;
    s.objects = {
        {kind::plain, 4},
        {kind::spin, 1},
        {kind::fenced, 1},
        {kind::fair, 3},
        {kind::read_write, 3},
        {kind::multi, 1},
        {kind::red, 1},
        {kind::permits, 2}};
    s.settings.lease = 400ms;
    s.settings.sync_timeout = 200ms;
    s.longest_pause = 100ms;
    s.long_stays = 50;
    s.own_leases = 50;
    s.renewed_leases = 60;
    s.re_entries = 60;
    s.own_terms = 75;
    s.most_re_entries = 2;
    s.outer_first = 40;
    s.extensions = 50;
    s.most_extensions = 4;
    s.at_least = 10;
    s.hold_limits = 15;
    s.loss_margins = 30;
    s.older_ids = 0;
    s.longest_wait = 60s;
    return s;
}

/// The same under faults that take nothing from the server.
scenario broken_terms()
{
    auto s = terms();
    s.name = "broken_terms";
    s.between_faults = 300ms;
    s.held_up = 30;
    s.faults = storm().faults;
    s.faults.emplace_back(fault_kind::cut_one, 25);
    s.faults.emplace_back(fault_kind::late_replicas, 6);
    s.faults.emplace_back(fault_kind::forget_scripts, 6);
    return s;
}

/// The same where CLIENT KILL is refused.
scenario unkilled()
{
    auto s = broken_terms();
    s.name = "unkilled";
    s.may_kill = false;
    s.held_up = 60;
    return s;
}

/// Red locks whose servers restart empty: their tokens rise, and no overlap is excused.
scenario quorum()
{
    auto s = arena();
    s.name = "quorum";
    s.servers = 5;
    s.objects = {{kind::red, 3}};
    s.tasks = 4;
    s.settings.lease = 1s;
    s.settings.vote_after = 1'020ms;  // the longest lease of all that are asked for
    s.extensions = s.re_entries = 0;
    s.long_stays = 40;
    s.longest_pause = 300ms;
    s.between_faults = 500ms;
    s.longest_wait = 60s;
    s.faults = {
        {fault_kind::restart_empty, 20},
        {fault_kind::cut_commands, 6},
        {fault_kind::cut_one, 10},
        {fault_kind::part, 5},
        {fault_kind::slow, 5},
        {fault_kind::lossy, 5},
        {fault_kind::stand_still, 5},
        {fault_kind::suspend, 5},
        {fault_kind::server_down, 5},
        {fault_kind::die, 3},
        {fault_kind::close_client, 2}};
    return s;
}

/// Somebody forces locks again and again, and nothing else is wrong: each holder with a mailbox is
/// told at once.
scenario forced()
{
    auto s = kinds();
    s.name = "forced";
    s.servers = 1;
    s.tasks = 4;
    s.objects = {{kind::plain, 3}, {kind::fair, 1}, {kind::read_write, 2}};
    s.longest_pause = 100ms;
    s.long_stays = 40;
    s.between_faults = 100ms;
    s.faults = {{fault_kind::force, 1}};
    return s;
}

/// The same in a cluster, where each slot has its mailboxes.
scenario forced_shards()
{
    auto s = forced();
    s.name = "forced_shards";
    s.shards = 3;
    s.settings.topology = topology::cluster;
    s.settings.publish = publishing::sharded;
    return s;
}

constexpr std::array makers{
    contended,
    kinds,
    arena,
    storm,
    idle,
    failover,
    synced,
    shards,
    terms,
    broken_terms,
    unkilled,
    quorum,
    forced,
    forced_shards};

}  // namespace

scenario scenario_named(std::string_view name)
{
    for (auto const make : makers)
        if (auto s = make(); s.name == name)
            return s;
    throw std::invalid_argument{"no scenario has this name: " + std::string{name}};
}

std::vector<std::string> scenario_names()
{
    std::vector<std::string> names;
    for (auto const make : makers)
        names.push_back(make().name);
    return names;
}

std::string recipe::describe() const
{
    std::string text = "--seed " + std::to_string(seed);
    if (luck != 0)
        text += " --luck " + std::to_string(luck);
    auto const add = [&text](char const* option, std::set<int> const& numbers) {
        for (auto const n : numbers)
            text += std::string{" --without-"} + option + " " + std::to_string(n);
    };
    add("machine", without_machines);
    add("task", without_tasks);
    add("fault", without_faults);
    if (sections != ~std::uint64_t{})
        text += " --sections " + std::to_string(sections);
    if (length != moment{})
        text += " --length " + std::to_string(length / 1ms);
    return text;
}

}  // namespace colock::simulation
