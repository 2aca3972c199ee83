// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/trials.hpp"

#include <boost/test/results_collector.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <ranges>

namespace colock::test {

namespace {

/// A ticket of a process that is gone stands for 5 s, a lock for its lease; the rest is the time
/// that links need to come back.
constexpr std::chrono::milliseconds hung{15'000};

/// Who waits so long for each of those that stay, in ns, has been forgotten. They stay for four
/// seconds at most, but who is next is chance where the lock isn't fair.
constexpr std::int64_t starved = 10'000'000'000;

}  // namespace

series::series(std::string title, arena_plan plan, server_kind kind)
    : title_{std::move(title)}
    , arena_{std::move(plan), kind}
{}

series::~series()
{
    namespace unit_test = boost::unit_test;
    auto const id = unit_test::framework::current_test_case_id();
    if (std::uncaught_exceptions() > 0 || !unit_test::results_collector.results(id).passed())
        arena_.keep();
}

void series::undergo(std::vector<fault> const& faults)
{
    auto& dice = arena_.dice();
    arena_.work_for(50 + dice.below(250));
    if (std::ranges::count(faults, promise::fence, &fault::leaves) > 0)
        arena_.let_leases_run_out();
    if (std::ranges::any_of(faults, &fault::strands_places))
        arena_.let_places_stay();
    bool const excused = std::ranges::any_of(faults, &fault::excuses);
    if (excused)
        arena_.fault_begins();
    for (auto const& each : faults) {
        each.begin(arena_);
        arena_.work_for(each.least + dice.below(each.most - each.least + 1));
    }
    for (auto const& each : faults | std::views::reverse)
        each.end(arena_);
    if (excused)
        arena_.fault_is_over();
    auto const again = arena_.until_all_enter(hung);
    std::string names;
    for (auto const& each : faults)
        names += (names.empty() ? "" : ", then ") + each.name;
    BOOST_TEST(again >= 0, "hung after: " << names);
    slowest_ = std::max(slowest_, again);
    ++trials_;
}

findings const& series::finish()
{
    found_ = arena_.finish();
    auto const& plan = arena_.plan();
    std::cout << title_ << ": " << trials_ << " trials, " << plan.processes << " processes, "
              << plan.all_tasks() << " tasks, lease " << plan.lease << " ms: " << to_string(found_)
              << "; all inside again after at most " << slowest_ << " ms, left behind "
              << arena_.left_behind().size() << std::endl;
    BOOST_TEST(found_.sections > 0);
    BOOST_TEST(found_.stale_writes == 0);
    BOOST_TEST(found_.tokens_not_rising == 0);
    BOOST_TEST(found_.used_after_validity == 0);
    BOOST_TEST(found_.used_after_stop == 0);
    BOOST_TEST(found_.hung == 0);
    BOOST_TEST(found_.malformed == 0);
    BOOST_TEST(*std::ranges::max_element(found_.longest_wait) <= longest_wait());
    BOOST_TEST(found_.longest_attempt <= starved * plan.processes * plan.sitters);
    BOOST_TEST(found_.longest_queued_attempt <= longest_attempt_in_a_queue());
    for (auto const& each : arena_.left_behind())
        BOOST_TEST(false, "left behind: " << each);
    return found_;
}

/// Until a lease is over and somebody looks; in a queue, until a ticket is over as well.
std::int64_t series::longest_wait() const
{
    auto const& plan = arena_.plan();
    return (plan.lease + 1'000 + (plan.queues().empty() ? 0 : 5'000)) * std::int64_t{1'000'000};
}

/// All who stay may be before him, each as long as he likes; and a fault may cost him his place.
std::int64_t series::longest_attempt_in_a_queue() const
{
    auto const& plan = arena_.plan();
    return (plan.processes * plan.sitters * plan.longest_stay + hung.count()) *
        std::int64_t{1'000'000};
}

void series::check_exclusion() const
{
    BOOST_TEST(found_.overlaps == 0);
    BOOST_TEST(found_.tokens_out_of_turn == 0);
    if (found_.overlaps_of_stopped == 0)
        BOOST_TEST(found_.refused_writes == 0);
}

// Who holds is told at the next renewal, or by the first round trip after a reconnect.
void series::check_notice() const
{
    auto const lease = arena_.plan().lease * std::int64_t{1'000'000};
    BOOST_TEST(found_.longest_overlap <= lease / 3 + lease / 10 + found_.longest_standstill);
}

void series::check_awakening() const
{
    if (found_.long_stops >= 10)
        BOOST_TEST(found_.told_after_stop > 0);
}

void series::check_that_nothing_is_lost() const
{
    if (found_.longest_standstill < arena_.plan().lease * std::int64_t{100'000})
        BOOST_TEST(found_.told == 0);
}

}  // namespace colock::test
