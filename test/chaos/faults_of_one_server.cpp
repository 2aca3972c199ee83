// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// One server, and everything that can happen to it, to the way to it, and to who uses it.
#include "chaos/trials.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

namespace colock::test {

namespace {

auto only_when_there_is_time()
{
    return boost::unit_test::precondition([](auto) {
        return boost::test_tools::assertion_result{chaos_trials() > 1};
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(faults)

BOOST_DATA_TEST_CASE(none, each_server(), kind)
{
    int const sections = from_environment("COLOCK_CHAOS_SECTIONS", 10'000);
    until_conclusive([&] {
        series all{
            "no fault",
            {.processes = 8, .tasks = 8, .keys = 24, .longest_visit = 0, .longest_break = 1},
            kind};
        stopwatch const watch;
        while (all.at().board().entries() < sections && watch.ms() < 3'600'000)
            all.at().work_for(20);
        auto const& found = all.finish();
        BOOST_TEST(found.sections >= sections);
        all.check_that_nothing_is_lost();
        all.expect(found.in_vain == 0, std::to_string(found.in_vain) + " holds in vain");
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_DATA_TEST_CASE(each_once, each_server(), kind)
{
    auto some = faults_that_leave(promise::exclusion);
    std::erase_if(some, [](fault const& each) { return each.kills; });
    until_conclusive([&] {
        series all{"each fault once", arena_for(some), kind};
        for (auto const& each : some)
            all.undergo({each});
        all.finish();
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_TEST_DECORATOR(*only_when_there_is_time())
BOOST_DATA_TEST_CASE(
    alone, boost::unit_test::data::make(faults_that_leave(promise::exclusion)), what
)
{
    until_conclusive([&] {
        series all{what.name, arena_for({what})};
        for (int i = 0; i != chaos_trials(); ++i)
            all.undergo({what});
        all.finish();
        all.check_exclusion();
        if (!what.loses_holds)
            all.check_that_nothing_is_lost();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_CASE(pairs)
{
    auto const some = faults_that_leave(promise::exclusion);
    until_conclusive([&] {
        series all{"pairs of faults at random", arena_for(some)};
        for (int i = 0; i != (chaos_trials() == 1 ? 5 : chaos_trials()); ++i) {
            auto const any = [&] {
                return some.at(
                    static_cast<std::size_t>(all.at().dice().below(static_cast<int>(some.size())))
                );
            };
            auto const first = any();
            all.undergo({first, any()});
        }
        all.finish();
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fence)

// Nothing can exclude here; the fence holds, overlaps are counted, and who runs is told soon.
BOOST_DATA_TEST_CASE(each_once, each_server(), kind)
{
    until_conclusive([&] {
        series all{"each fault that leaves the fence alone, once", {}, kind};
        for (auto const& each : faults_that_leave(promise::fence))
            all.undergo({each});
        all.finish();
        all.check_notice();
        return all.is_conclusive();
    });
}

BOOST_TEST_DECORATOR(*only_when_there_is_time())
BOOST_DATA_TEST_CASE(alone, boost::unit_test::data::make(faults_that_leave(promise::fence)), what)
{
    until_conclusive([&] {
        series all{what.name, {}};
        for (int i = 0; i != chaos_trials(); ++i)
            all.undergo({what});
        all.finish();
        all.check_notice();
        return all.is_conclusive();
    });
}

BOOST_DATA_TEST_CASE(a_process_is_stopped, each_server(), kind)
{
    auto const ways = faults_that_leave(promise::exclusion_of_who_runs);
    until_conclusive([&] {
        series all{ways.front().name, arena_for(ways), kind};
        for (int i = 0; i != chaos_trials(); ++i)
            for (auto const& each : ways)
                all.undergo({each});
        all.finish();
        all.check_exclusion();
        all.check_awakening();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(bounds)

// A ticket of a fair lock may take longer: it is bounded in family.fair_locks.
BOOST_AUTO_TEST_CASE(who_is_killed_is_followed_within_the_lease_and_a_second)
{
    until_conclusive([&] {
        series all{"holders killed", {.kinds = "lwsFpmr"}};
        for (int i = 0; i != 3 * chaos_trials(); ++i)
            all.undergo({fault_named("a process is killed")});
        all.finish();  // which bounds all waits so
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_CASE(without_any_message_somebody_is_in_within_a_second)
{
    until_conclusive([&] {
        series all{"all messages dropped, always", {.kinds = "lfwpSc"}};
        for (int i = 0; i != arena::networks; ++i)
            all.at().network(i).drop_messages(true);
        all.at().work_for(chaos_trials() == 1 ? 5'000 : 60'000);
        auto found = all.finish();
        all.check_exclusion();
        // What two processors need for a hundred round trips comes on top of the second.
        auto const waited =
            std::max(
                found.wait_after(ending::released), found.queued_wait_after(ending::released)
            ) /
            1'000'000;
        all.expect(waited <= 1'200, "somebody got in after " + std::to_string(waited) + " ms");
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_CASE(cut_at_random_nobody_hangs)
{
    int const cuts = from_environment("COLOCK_CHAOS_CUTS", 20);
    until_conclusive([&] {
        series all{"cuts at random", {}};
        auto& at = all.at();
        auto const which = {proxy::link::any, proxy::link::command, proxy::link::push};
        for (int i = 0; i != cuts; ++i) {
            at.network(at.dice().below(arena::networks)).cut(which.begin()[at.dice().below(3)]);
            at.work_for(at.dice().below(200));
        }
        all.undergo({});
        all.finish();
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// Another version of the library shares keys with this one. COLOCK_OTHER_WORKER is its worker, as
// `tools/chaos --against COMMIT` builds it.

char const* other_worker() { return std::getenv("COLOCK_OTHER_WORKER"); }

auto only_with_another_version()
{
    return boost::unit_test::precondition([](auto) {
        return boost::test_tools::assertion_result{other_worker() != nullptr};
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(versions)

BOOST_AUTO_TEST_CASE(share_keys, *only_with_another_version())
{
    until_conclusive([&] {
        series all{"beside another version", {.longest_visit = 0, .longest_break = 2}};
        for (int i = 0; i != all.at().plan().processes; ++i)
            all.at().add_process(other_worker());
        BOOST_TEST(all.at().until_all_enter(20s) >= 0);
        int const sections = from_environment("COLOCK_CHAOS_SECTIONS", 10'000);
        stopwatch const watch;
        while (all.at().board().entries() < sections / 10 && watch.ms() < 600'000)
            all.at().work_for(20);
        for (int i = 0; i != chaos_trials(); ++i)
            for (auto const* each : {"a process is killed", "connections reset", "SCRIPT FLUSH"})
                all.undergo({fault_named(each)});
        all.finish();
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
