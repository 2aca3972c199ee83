// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Many clients want the same thing, and each has one waiter for it. COLOCK_CROWD is how many there
// are in the largest crowd.
#include "simulation/world/tests/worlds.hpp"
#include "simulation/world/world.hpp"

#include <cmath>

namespace colock::simulation {

namespace {

using namespace std::chrono_literals;

struct outcome_of_crowd {
    double scripts = 0;  ///< by acquisition
    double messages = 0;
    moment all_in{};
};

/// Each of the clients gets it once, and gives it back at once.
outcome_of_crowd run_crowd(kind what, int clients, std::uint64_t seed)
{
    scenario plan;
    plan.name = "crowd";
    plan.machines = clients;
    plan.tasks = 1;
    plan.objects = {{what, 1}};
    plan.permits = 1;
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
    for (auto const what : {kind::plain, kind::fenced, kind::read_write, kind::permits})
        for (int const clients : {10, 100, most}) {
            auto const found = run_crowd(what, clients, seed);
            BOOST_TEST(found.scripts < 10);
            BOOST_TEST((found.all_in < clients * 5ms));
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
