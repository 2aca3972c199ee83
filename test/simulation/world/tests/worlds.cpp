// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/run.hpp"
#include "simulation/world/world.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>

namespace colock::simulation {

/// The test's own, the same each time, unless COLOCK_SEED says which.
inline std::uint64_t chosen_seed()
{
    auto const seed = test::seed_of_test();
    std::cout << "seed " << seed << std::endl;
    return seed;
}

/// A test that fails says how the same is seen again.
inline void check(scenario const& plan, recipe const& how, verdict const& v)
{
    if (!v.broken_rule.empty())
        BOOST_ERROR(
            v.broken_rule << "\n"
                          << v.story << "again: colock-simulate " << plan.name << " "
                          << how.describe()
        );
}

namespace {

// Worlds of each scenario: so many, whatever the time that they take, so that each machine runs the
// same ones. COLOCK_SIMULATION_WORLDS is another number of them, in percent.

void run_worlds(std::string_view name, int usually)
{
    auto const plan = scenario_named(name);
    auto const percent = test::from_environment("COLOCK_SIMULATION_WORLDS", 100);
    auto const worlds = std::max(1, usually * percent / 100);
    recipe how;
    how.seed = chosen_seed();
    std::uint64_t sections = 0;
    moment simulated{};
    for (int i = 0; i != worlds; ++i, ++how.seed) {
        auto const v = run(plan, how);
        check(plan, how, v);
        sections += v.sections;
        simulated += v.length;
        if (!v.broken_rule.empty())
            return;
    }
    std::cout << name << ": " << worlds << " worlds, " << simulated / std::chrono::minutes{1}
              << " simulated minutes, " << sections << " sections" << std::endl;
    BOOST_TEST(sections != 0U);
}

BOOST_AUTO_TEST_SUITE(world_contention)

BOOST_AUTO_TEST_CASE(contended) { run_worlds("contended", 16); }

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(world_scenarios)

BOOST_AUTO_TEST_CASE(kinds) { run_worlds("kinds", 15); }
BOOST_AUTO_TEST_CASE(arena) { run_worlds("arena", 15); }
BOOST_AUTO_TEST_CASE(storm) { run_worlds("storm", 15); }
BOOST_AUTO_TEST_CASE(idle) { run_worlds("idle", 200); }
BOOST_AUTO_TEST_CASE(failover) { run_worlds("failover", 20); }
BOOST_AUTO_TEST_CASE(synced) { run_worlds("synced", 20); }
BOOST_AUTO_TEST_CASE(shards) { run_worlds("shards", 10); }
BOOST_AUTO_TEST_CASE(terms) { run_worlds("terms", 15); }
BOOST_AUTO_TEST_CASE(broken_terms) { run_worlds("broken_terms", 15); }
BOOST_AUTO_TEST_CASE(unkilled) { run_worlds("unkilled", 15); }
BOOST_AUTO_TEST_CASE(quorum) { run_worlds("quorum", 15); }
BOOST_AUTO_TEST_CASE(forced) { run_worlds("forced", 10); }
BOOST_AUTO_TEST_CASE(forced_shards) { run_worlds("forced_shards", 10); }

BOOST_AUTO_TEST_SUITE_END()

// The simulator itself: a seed says all that happens, and the judge finds what is broken.

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(world_machinery)

BOOST_AUTO_TEST_CASE(the_same_seed_is_the_same_world)
{
    recipe how;
    how.seed = chosen_seed();
    how.length = 10s;
    for (auto const& name : scenario_names())
        BOOST_TEST_CONTEXT(name)
        {
            auto const plan = scenario_named(name);
            auto const first = run(plan, how), second = run(plan, how);
            BOOST_TEST(first.events == second.events);
            BOOST_TEST(first.sum == second.sum);
            auto other = how;
            ++other.seed;
            BOOST_TEST(run(plan, other).sum != first.sum);
        }
}

/// In so many worlds at most the judge sees it.
void check_found(mutant broken, std::string_view where, int worlds = 40)
{
    auto plan = scenario_named(where);
    plan.broken = broken;
    recipe how;
    how.seed = chosen_seed();
    std::string found;
    int tried = 0;
    for (; found.empty() && tried != worlds; ++tried, ++how.seed)
        found = run(plan, how, 0).broken_rule;
    BOOST_TEST(!found.empty(), name_of(broken) << " was not found in " << worlds << " worlds");
    std::cout << name_of(broken) << ", world " << tried << ": " << found << std::endl;
}

BOOST_AUTO_TEST_CASE(a_release_that_ignores_the_owner_is_found)
{
    check_found(mutant::release_ignores_owner, "storm");
}
BOOST_AUTO_TEST_CASE(a_renewal_that_revives_is_found)
{
    check_found(mutant::renewal_revives, "failover", 100);
}
BOOST_AUTO_TEST_CASE(a_renewal_for_less_than_it_says_is_found)
{
    check_found(mutant::renewal_is_short, "kinds");
}
BOOST_AUTO_TEST_CASE(an_acquire_that_ignores_the_owner_is_found)
{
    check_found(mutant::acquire_ignores_owner, "contended");
}
BOOST_AUTO_TEST_CASE(tokens_that_fall_are_found) { check_found(mutant::tokens_fall, "arena"); }
BOOST_AUTO_TEST_CASE(a_lost_wake_up_is_found) { check_found(mutant::messages_vanish, "contended"); }
BOOST_AUTO_TEST_CASE(a_grant_that_is_not_given_back_is_found)
{
    check_found(mutant::grant_is_kept, "contended");
}
BOOST_AUTO_TEST_CASE(a_clock_beyond_its_drift_is_found)
{
    check_found(mutant::slow_clock, "storm");
}
BOOST_AUTO_TEST_CASE(a_permit_too_many_is_found)
{
    check_found(mutant::permits_never_end, "kinds");
}
BOOST_AUTO_TEST_CASE(a_latch_that_opens_early_is_found)
{
    check_found(mutant::latch_opens_early, "kinds");
}
BOOST_AUTO_TEST_CASE(a_claim_that_stays_is_found) { check_found(mutant::claim_stays, "kinds"); }
BOOST_AUTO_TEST_CASE(a_force_that_nobody_hears_of_is_found)
{
    check_found(mutant::force_is_silent, "forced");
    check_found(mutant::force_is_silent, "forced_shards");
}

BOOST_AUTO_TEST_CASE(replicas_that_do_not_have_what_they_say_are_found)
{
    check_found(mutant::wait_lies, "synced", 100);
}
BOOST_AUTO_TEST_CASE(a_token_that_is_not_raised_is_found)
{
    check_found(mutant::raise_is_ignored, "quorum", 100);
}
BOOST_AUTO_TEST_CASE(a_vote_too_early_is_found) { check_found(mutant::all_vote, "quorum", 100); }

BOOST_AUTO_TEST_CASE(a_failure_is_made_small)
{
    auto plan = scenario_named("contended");
    plan.broken = mutant::acquire_ignores_owner;
    plan.length = 2s;
    recipe how;
    how.seed = chosen_seed();
    for (int left = 100; run(plan, how, 0).rule != "exclusion"; --left) {
        BOOST_TEST_REQUIRE(left != 0);
        ++how.seed;  // a grant without a token takes more users
    }
    std::ostringstream log;
    auto const small = shrink(plan, how, 1'000, log);
    auto const v = run(plan, small);
    BOOST_TEST(!v.broken_rule.empty());
    BOOST_TEST(!v.story.empty());
    // Two users are enough for an overlap.
    int users = 0;
    for (int t = 0; t != plan.machines * plan.tasks; ++t)
        users +=
            !small.without_tasks.contains(t) && !small.without_machines.contains(t / plan.tasks);
    BOOST_TEST(users == 2);
    std::cout << small.describe() << "\n" << v.story;
}

BOOST_AUTO_TEST_SUITE_END()

// Many clients want the same thing, and each has one waiter for it. COLOCK_CROWD is how many there
// are in the largest crowd.

using namespace std::chrono_literals;

struct outcome_of_crowd {
    double scripts = 0;  ///< by acquisition
    double messages = 0;
    moment all_in{};
};

/// Each of the clients gets it once, and gives it back at once.
outcome_of_crowd run_crowd(kind what, int clients, std::uint64_t seed, mutant broken = mutant::none)
{
    scenario plan;
    plan.name = "crowd";
    plan.broken = broken;
    plan.machines = clients;
    plan.tasks = 1;
    plan.objects = {{what, 1}};
    plan.permits = 1;
    plan.older_ids = 0;
    plan.writes = 100;
    plan.longest_stay = plan.longest_pause = {};
    plan.length = 30s;
    plan.longest_wait = 10s;
    recipe how;
    how.seed = seed;
    how.sections = 1;
    world all{plan, how};
    all.run();
    BOOST_TEST(all.sections() == static_cast<std::uint64_t>(clients));
    auto const by_section = [&](std::uint64_t count) {
        return static_cast<double>(count) / clients;
    };
    auto const& server = *all.nodes_of(0).front();
    outcome_of_crowd const found{
        by_section(server.scripts()), by_section(server.messages()), all.last_section()};
    std::cout << clients << " clients, " << name_of(what) << ": " << found.scripts
              << " scripts and " << found.messages << " messages each, all in after "
              << found.all_in / 1ms << " ms" << std::endl;
    return found;
}

BOOST_AUTO_TEST_SUITE(world_crowds)

BOOST_AUTO_TEST_CASE(few_ask_however_many_wait)
{
    auto const seed = chosen_seed();
    auto const most = static_cast<int>(test::from_environment("COLOCK_CROWD", 300));
    for (auto const what :
         {kind::plain, kind::fenced, kind::read_write, kind::semaphore, kind::permits})
        for (int const clients : {10, 100, most}) {
            auto const found = run_crowd(what, clients, seed);
            BOOST_TEST(found.scripts < 10);
            BOOST_TEST((found.all_in < clients * 5ms));
        }
}

// Nobody comes later, so who was not told waits until the poll cap.
BOOST_AUTO_TEST_CASE(a_turn_that_nobody_hears_of_is_found)
{
    auto const seed = chosen_seed();
    constexpr int clients = 100;
    for (auto const what :
         {kind::plain, kind::fenced, kind::read_write, kind::semaphore, kind::permits}) {
        auto const sound = run_crowd(what, clients, seed);
        auto const found = run_crowd(what, clients, seed, mutant::turn_is_lost);
        BOOST_TEST((found.all_in > sound.all_in + 100ms), name_of(what));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
