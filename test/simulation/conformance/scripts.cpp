// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The server in process beside real ones: the same steps get the same replies and leave the same
// keys. All have the same wall clock, which stands still between two steps.
#include "simulation/conformance/subject.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace colock::simulation {

namespace {

bool only_reads(std::string_view script)
{
    return script == "inspect" || script == "request" || script == "count" ||
        script == "permit_count" || script == "leader_read";
}

/// How often each script has changed something.
using change_counts = std::map<std::string_view, int>;

/// The scripts that have not changed something yet.
std::vector<script_form const*> scripts_left(change_counts const& changes)
{
    std::vector<script_form const*> left;
    for (auto const& form : script_forms()) {
        auto const at = changes.find(form.what.name);
        if (only_reads(form.what.name) || (at != changes.end() && at->second != 0))
            continue;
        left.push_back(&form);
    }
    return left;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_on_servers)

BOOST_AUTO_TEST_CASE(all_scripts_are_called)
{
    std::set<std::string_view> called, all;
    for (auto const& form : script_forms())
        BOOST_TEST(called.insert(form.what.name).second);
    for (auto const* const script : scripts::all)
        if (script->name != "raise")  // its reply says how long the server has been up
            all.insert(script->name);
    BOOST_TEST(called == all, boost::test_tools::per_element());
}

// In half of the rounds keys are changed by hand, too, and scripts get what colock never sends. All
// keys go between two rounds, so that what is of a wrong type doesn't stay for long.
// COLOCK_CONFORMANCE_ROUNDS says how many rounds there are at least. Few steps meet the state in
// which some scripts change anything, so it goes on with these until each has done so.
BOOST_DATA_TEST_CASE(random_steps, each_server(), kind)
{
    random_numbers dice;
    step_maker make{dice};
    simulated ours;
    real theirs{kind};
    comparison both{ours, theirs};
    change_counts changes;
    auto now = some_day;
    auto const rounds = test::from_environment("COLOCK_CONFORMANCE_ROUNDS", 50);
    auto const goes_on = [&](int round) {
        return round < rounds || (round < 40 * rounds && !scripts_left(changes).empty());
    };
    for (int i = 0; i % 100 != 0 || goes_on(i / 100); ++i) {
        BOOST_TEST_CONTEXT("seed " << dice.seed() << ", step " << i)
        {
            now += make.pause();
            make.set_clock(now);
            both.set_clock(now);
            bool const is_rough = i / 100 % 2 != 0;
            if (i % 100 == 0) {
                if (i / 100 >= rounds)
                    make.aim_at(scripts_left(changes));
                both.ask({"FLUSHALL"});
            } else if (is_rough && dice.one_in(10)) {
                both.ask(make.by_hand());
            } else if (dice.one_in(10)) {
                auto const to = dice.one_in(2) ? audience::channel : audience::shard_channel;
                both.listen(to, make.channel(), !dice.one_in(3));
            } else {
                auto const call = make.call(is_rough && dice.one_in(10));
                for (int times = dice.one_in(4) ? 2 : 1; times != 0; --times)
                    changes[call.what->name] += both.run(call);
            }
        }
    }
    BOOST_TEST(changes.size() == script_forms().size());
    for (auto const& [name, times] : changes)
        BOOST_TEST((times == 0) == only_reads(name), name << " has changed something so often");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
