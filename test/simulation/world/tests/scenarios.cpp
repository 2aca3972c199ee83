// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Worlds of each scenario, with a new seed each time. COLOCK_SIMULATION_SECONDS is how much of this
// machine's time all of them get; with COLOCK_SIMULATION_SECTIONS the contended ones go on until
// they have had so many.
#include "simulation/world/tests/worlds.hpp"

namespace colock::simulation {

namespace {

using real_clock = std::chrono::steady_clock;

/// Runs worlds of a scenario for its part, in percent, of the time. At least one, and until there
/// have been so many sections.
void run_worlds(std::string_view name, int percent, std::uint64_t least = 1)
{
    auto const plan = scenario_named(name);
    auto const seconds = test::from_environment("COLOCK_SIMULATION_SECONDS", 60);
    auto const end = real_clock::now() + std::chrono::milliseconds{10 * percent * seconds};
    recipe how;
    how.seed = chosen_seed();
    std::uint64_t sections = 0, worlds = 0;
    moment simulated{};
    do {
        auto const v = run(plan, how);
        check(plan, how, v);
        sections += v.sections;
        simulated += v.length;
        ++how.seed;
        ++worlds;
        if (!v.broken_rule.empty())
            return;
    } while (real_clock::now() < end || sections < least);
    std::cout << name << ": " << worlds << " worlds, " << simulated / std::chrono::minutes{1}
              << " simulated minutes, " << sections << " sections" << std::endl;
    BOOST_TEST(sections != 0U);
}

BOOST_AUTO_TEST_SUITE(world_scenarios)

BOOST_AUTO_TEST_CASE(contended)
{
    auto const least = test::from_environment("COLOCK_SIMULATION_SECTIONS", 1);
    run_worlds("contended", 35, static_cast<std::uint64_t>(least));
}
BOOST_AUTO_TEST_CASE(kinds) { run_worlds("kinds", 10); }
BOOST_AUTO_TEST_CASE(arena) { run_worlds("arena", 15); }
BOOST_AUTO_TEST_CASE(storm) { run_worlds("storm", 10); }
BOOST_AUTO_TEST_CASE(idle) { run_worlds("idle", 5); }
BOOST_AUTO_TEST_CASE(failover) { run_worlds("failover", 5); }
BOOST_AUTO_TEST_CASE(synced) { run_worlds("synced", 5); }
BOOST_AUTO_TEST_CASE(shards) { run_worlds("shards", 5); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
