// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/recipe_file.hpp"
#include "simulation/world/run.hpp"

#include <boost/test/unit_test.hpp>

#include <exception>
#include <sstream>
#include <string>

namespace colock::simulation {

namespace {

using namespace std::chrono_literals;

std::string text_of(kept_recipe const& what)
{
    std::ostringstream to;
    write(to, what);
    return to.str();
}

kept_recipe read_from(std::string const& text)
{
    std::istringstream from{text};
    return read_recipe(from);
}

BOOST_AUTO_TEST_SUITE(world_recipes)

// What a scenario sets and no recipe keeps shows here.
BOOST_AUTO_TEST_CASE(a_world_is_the_same_from_its_file)
{
    for (auto const& name : scenario_names())
        BOOST_TEST_CONTEXT(name)
        {
            kept_recipe first{scenario_named(name), {}};
            first.how.seed = 7;
            first.how.luck = 3;
            first.how.without_machines = {1};
            first.how.without_tasks = {0, 5};
            first.how.without_faults = {2, 4};
            first.how.length = 5s;
            auto const again =
                read_from("found: something\n" + text_of(first) + "story\n    of it\n");
            auto const one = run(first.plan, first.how), other = run(again.plan, again.how);
            BOOST_TEST(one.events == other.events);
            BOOST_TEST(one.sum == other.sum);
            BOOST_TEST(text_of(again) == text_of(first));
        }
}

BOOST_AUTO_TEST_CASE(what_is_broken_stays_broken)
{
    kept_recipe first{scenario_named("contended"), {}};
    first.plan.broken = mutant::acquire_ignores_owner;
    first.how.length = 2s;
    auto const again = read_from(text_of(first));
    BOOST_TEST(!run(again.plan, again.how).broken_rule.empty());
}

BOOST_AUTO_TEST_CASE(another_file_is_refused)
{
    auto const text = text_of({scenario_named("storm"), {}});
    auto const without = [&text](std::string const& line) {
        auto const at = text.find(line);
        BOOST_TEST_REQUIRE(at != text.npos);
        return text.substr(0, at) + text.substr(text.find('\n', at) + 1);
    };
    auto const instead = [&](std::string const& line, std::string const& other) {
        return without(line) + other + "\n";
    };
    BOOST_TEST(read_from(text).plan.name == "storm");
    for (auto const& bad :
         {std::string{},
          std::string{"recipe\n"},
          without("    seed "),
          instead("    machines ", "    machines few"),
          instead("    machines ", "    machines 3 4"),
          instead("    broken ", "    broken pieces"),
          text + "    wheels 4\n",
          text + "    object plain\n",
          text + "    seed 2\n"})
        BOOST_CHECK_THROW(read_from(bad), std::exception);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
