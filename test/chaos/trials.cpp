// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/trials.hpp"

#include <boost/test/results_collector.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <ranges>

namespace colock::test {

namespace {

std::string permits_left(redis_server& server, std::string const& name, int missing)
{
    auto const left = std::stoi("0" + server.ask("GET", name).text);
    if (left <= chaos_permits && left >= chaos_permits - missing)
        return {};
    return name + " with " + std::to_string(left) + " permits; ";
}

}  // namespace

std::string leftovers(redis_server& server, kind of, std::string const& name, int missing)
{
    std::string found;
    for (auto const& key : server.ask("KEYS", "*" + name + "*").items) {
        bool const has_count =
            key.text == name && (of == kind::semaphore || of == kind::permits || of == kind::latch);
        if (!is_kept(key.text) && !has_count)
            found += key.text + "; ";
    }
    if (of == kind::semaphore || of == kind::permits)
        found += permits_left(server, name, missing);
    return found;
}

std::string leftovers(client const& at, bool what_lingers)
{
    auto s = at.stats();
    if (!what_lingers)
        s.keys = s.subscriptions = 0;
    if (s.holds + s.waiters + s.keys + s.owed_releases + s.subscriptions == 0)
        return {};
    return "holds " + std::to_string(s.holds) + ", waiters " + std::to_string(s.waiters) +
        ", keys " + std::to_string(s.keys) + ", owed " + std::to_string(s.owed_releases) +
        ", subscriptions " + std::to_string(s.subscriptions) + "; ";
}

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
    for (auto const& doubt : doubts_)
        std::cout << title_ << ": the machine stood still for "
                  << found_.longest_standstill / 1'000'000 << " ms, and " << doubt << std::endl;
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
        arena_.let_all_places_stay();
    stops_processes_ = stops_processes_ ||
        std::ranges::count(faults, promise::exclusion_of_who_runs, &fault::leaves) > 0;
    bool const excused = std::ranges::any_of(faults, &fault::excuses);
    if (excused)
        arena_.fault_begins();
    auto const since = chaos_board::now();
    for (auto const& each : faults) {
        each.begin(arena_);
        arena_.work_for(each.least + dice.below(each.most - each.least + 1));
    }
    for (auto const& each : faults | std::views::reverse)
        each.end(arena_);
    bool const refuses = std::ranges::any_of(faults, &fault::refuses);
    if (refuses && faults.size() == 1)
        arena_.note_since(what::refused, since);
    if (std::ranges::any_of(faults, &fault::takes_all))
        arena_.note_since(what::taken, since);
    if (excused)
        arena_.fault_is_over();
    auto const again = arena_.until_all_enter(hung);
    // The other fault may have cut a connection. If the server has refused the next one, the client
    // tries again after a pause, and answers with that refusal until then.
    if (refuses && faults.size() != 1)
        arena_.note_since(what::refused, since);
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
    BOOST_TEST(found_.violations == 0);
    BOOST_TEST(found_.errors == 0);
    BOOST_TEST(found_.in_vain_for_no_reason == 0);
    BOOST_TEST(found_.stale_writes == 0);
    BOOST_TEST(found_.tokens_not_rising == 0);
    BOOST_TEST(found_.used_after_validity == 0);
    BOOST_TEST(found_.used_after_stop == 0);
    BOOST_TEST(found_.unaware_after_stop == 0);
    BOOST_TEST(found_.hung == 0);
    BOOST_TEST(found_.malformed == 0);
    check_waits();
    check_leftovers();
    return found_;
}

void series::check_leftovers() const
{
    for (auto const& each : arena_.left_behind())
        BOOST_TEST(false, "left behind: " << each);
}

/// A lock is had within its lease and the second in which somebody looks; in a queue, a ticket may
/// have to end before.
void series::check_waits()
{
    auto const& plan = arena_.plan();
    auto const limit = (plan.lease + 1'000) * std::int64_t{1'000'000};
    constexpr std::int64_t of_ticket = 5'000'000'000;
    auto const within = [&](std::int64_t waited, std::int64_t most, char const* what) {
        expect(waited <= most, what + std::to_string(waited / 1'000'000) + " ms");
    };
    within(std::ranges::max(found_.longest_wait), limit, "a free lock was had after ");
    within(
        std::ranges::max(found_.longest_queued_wait),
        limit + of_ticket,
        "a free lock with a queue was had after "
    );
    within(
        found_.longest_attempt, starved * plan.processes * plan.sitters, "an attempt has taken "
    );
    within(
        found_.longest_queued_attempt,
        longest_attempt_in_a_queue(),
        "an attempt in a queue has taken "
    );
}

/// All who stay may be before him, each as long as he likes; and a fault may cost him his place.
std::int64_t series::longest_attempt_in_a_queue() const
{
    auto const& plan = arena_.plan();
    return (plan.processes * plan.sitters * plan.longest_stay + hung.count()) *
        std::int64_t{1'000'000};
}

void series::check_exclusion()
{
    BOOST_TEST(found_.overlaps == 0);
    if (!stops_processes_)
        expect(found_.overlaps_of_stopped == 0, "somebody got in beside one who stood still");
    BOOST_TEST(found_.violations_of_taken == 0);
    BOOST_TEST(found_.tokens_out_of_turn == 0);
    BOOST_TEST(found_.refused_writes_of_running == 0);
}

// Who holds is told at the next renewal, or by the first round trip after a reconnect.
void series::check_notice()
{
    auto const lease = arena_.plan().lease * std::int64_t{1'000'000};
    expect(
        found_.longest_overlap <= lease / 3 + lease / 10,
        "two were inside for " + std::to_string(found_.longest_overlap / 1'000'000) + " ms"
    );
}

void series::check_awakening() { BOOST_TEST(found_.slept_through > 0); }

void series::check_that_nothing_is_lost()
{
    expect(found_.told == 0, std::to_string(found_.told) + " holds were lost");
}

void series::expect(bool is_so, std::string const& otherwise)
{
    if (is_so)
        return;
    if (machine_stood_still())
        doubts_.push_back(otherwise);
    else
        BOOST_TEST(false, otherwise);
}

/// For as long as a holder has between the notice and the end of its lease.
bool series::machine_stood_still() const
{
    return found_.longest_standstill >= arena_.plan().lease * std::int64_t{100'000};
}

void until_conclusive(std::function<bool()> const& one)
{
    constexpr int most = 5;
    for (int run = 1; run <= most; ++run) {
        if (one())
            return;
        std::cout << "inconclusive, run " << run << " of at most " << most << std::endl;
    }
    BOOST_TEST(false, "the machine stood still in each run: nothing is known");
}

}  // namespace colock::test
