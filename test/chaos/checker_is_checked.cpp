// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A checker that finds nothing may be blind: here there is something to find.
#include "chaos/trials.hpp"
#include "colock_scripts.hpp"

#include <iostream>
#include <string>

namespace colock::test {

namespace {

/// Whoever holds the lock for long meets it in one of two tries: in 16, surely.
constexpr int enough = 8;

/// Where the script looks whether the lock is free, and a text of the same length that always says
/// yes.
constexpr char const* the_check = "if there ~= 0 then";
constexpr char const* no_check = "if there == 9 then";

findings shown(arena& at, char const* title)
{
    auto found = at.finish();
    std::cout << title << ": " << to_string(found) << std::endl;
    return found;
}

void stop_for_longer_than_the_lease(arena& at)
{
    for (int i = 0; i != 2 * enough; ++i) {
        at.work_for(200);
        at.stop_process(i % 2);
        at.work_for(at.plan().lease * 3 / 2);
        at.resume_process(i % 2);
        at.until_all_enter(10s);
    }
}

/// Sitters write without asking their hold.
arena_plan careless()
{
    return {
        .processes = 2,
        .sitters = 1,
        .keys = 2,
        .slow_keys = 1,
        .longest_stay = 3'000,
        .lease = 600,
        .kinds = "l",
        .more = {"informed=0"}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checker_is_checked)

BOOST_AUTO_TEST_CASE(holders_who_do_not_hear_of_their_loss)
{
    arena at{careless()};
    for (int i = 0; i != enough; ++i)
        for (int which = 0; which != arena::networks; ++which) {
            at.work_for(200);
            at.network(which).hold_back_all(proxy::way::both);
            at.work_for(at.plan().lease * 3 / 2);
            at.network(which).let_through();
            at.until_all_enter(10s);
        }
    auto const found = shown(at, "loss notice switched off");
    BOOST_TEST(found.overlaps > 0);
    BOOST_TEST(found.violations == 0);  // each lease was over
    BOOST_TEST(found.used_after_validity > 0);
    BOOST_TEST(found.stale_writes == 0);
    BOOST_TEST(found.refused_writes > 0);
}

// Where EVALSHA is denied the text of a script is sent, and the network can change it.
BOOST_AUTO_TEST_CASE(a_script_without_its_check)
{
    BOOST_REQUIRE(scripts::acquire.text.find(the_check) != std::string_view::npos);
    arena at{{.kinds = "l", .rights = "+@all -evalsha"}};
    for (int i = 0; i != arena::networks; ++i)
        at.network(i).rewrite(the_check, no_check);
    at.work_for(1'000);
    auto const found = shown(at, "lock script without its check");
    BOOST_TEST(found.overlaps > 0);
    BOOST_TEST(found.violations > 0);
}

// Whoever is asked only which holder could have been told excuses it; the leases say that it is a
// double grant.
BOOST_AUTO_TEST_CASE(a_double_grant_beside_a_stopped_process)
{
    arena at{
        {.processes = 2,
         .tasks = 3,
         .sitters = 1,
         .keys = 2,
         .slow_keys = 1,
         .longest_stay = 1'500,
         .kinds = "s",
         .rights = "+@all -evalsha"}};
    for (int i = 0; i != 2 * enough; ++i) {
        at.work_for(300);
        at.stop_process(i % 2);
        auto& network = at.network(1 - i % 2);
        network.rewrite(the_check, no_check);
        at.work_for(at.plan().lease / 4);
        network.rewrite(no_check, the_check);  // as it was
        at.resume_process(i % 2);
    }
    auto const found = shown(at, "a double grant beside a stopped process");
    BOOST_TEST(found.overlaps_of_stopped > 0);
    BOOST_TEST(found.violations > 0);
}

BOOST_AUTO_TEST_CASE(writes_of_the_stopped_that_are_not_fenced)
{
    arena at{careless()};
    at.board().remove_fence();
    stop_for_longer_than_the_lease(at);
    auto const found = shown(at, "stopped, and no fence");
    BOOST_TEST(found.overlaps_of_stopped > 0);
    BOOST_TEST(found.stale_writes > 0);
}

BOOST_AUTO_TEST_CASE(the_same_behind_the_fence)
{
    arena at{careless()};
    stop_for_longer_than_the_lease(at);
    auto const found = shown(at, "stopped, behind the fence");
    BOOST_TEST(found.overlaps_of_stopped > 0);
    BOOST_TEST(found.violations == 0);
    BOOST_TEST(found.refused_writes > 0);
    BOOST_TEST(found.stale_writes == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
