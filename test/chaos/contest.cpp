// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/contest.hpp"
#include "support/patience.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace colock::test {

namespace {

std::string url_of(config const& where)
{
    std::string url =
        where.topology == topology::sentinel ? "redis+sentinel://" : "redis+cluster://";
    for (std::size_t i = 0; i != where.addresses.size(); ++i) {
        auto const& each = where.addresses[i];
        url += (i == 0 ? "" : ",") + each.host + ':' + std::to_string(each.port);
    }
    return where.topology == topology::sentinel ? url + '/' + where.master_name : url;
}

/// COLOCK_CHAOS_LOG keeps what the processes say.
std::string log_file()
{
    auto const* given = std::getenv("COLOCK_CHAOS_LOG");
    return given ? given : "/dev/null";
}

}  // namespace

int chaos_rounds() { return from_environment("COLOCK_CHAOS_ROUNDS", 1); }

std::string spread(std::vector<std::int64_t> of, std::string_view unit)
{
    if (of.empty())
        return "none";
    std::ranges::sort(of);
    std::ostringstream text;
    text << of.front() << " / " << of[of.size() / 2] << " / " << of.back() << ' ' << unit;
    return text.str();
}

contest::contest(
    config where, std::vector<address> const& others_first, contest_plan const& plan, unsigned seed
)
{
    std::cout << "seed " << seed << std::endl;
    where.addresses.insert(where.addresses.begin(), others_first.begin(), others_first.end());
    board_.begin(plan);
    auto const begin = contest_board::now();
    for (int i = 0; i != plan.processes; ++i)
        processes_.emplace_back(
            std::vector<std::string>{
                beside_this_program("colock-worker-contender"),
                url_of(where),
                file_.path(),
                std::to_string(i),
                std::to_string(seed + static_cast<unsigned>(i) + 1)},
            log_file()
        );
    if (until_all_enter(begin, 20s) < 0)
        throw std::runtime_error{"contest: not all processes have begun"};
}

bool contest::all_run()
{
    return std::ranges::all_of(processes_, [](auto& each) { return each.is_running(); });
}

std::int64_t contest::until_all_enter(time since, milliseconds limit)
{
    time last = since;
    bool const all = holds_within(limit, [&] {
        for (int i = 0; i != board_.plan().processes; ++i) {
            auto const entered = board_.last_entry_of(i).load();
            if (entered <= since)
                return false;
            last = std::max(last, entered);
        }
        return true;
    });
    return all ? ms_between(since, last) : -1;
}

std::vector<contest::waiting_task> contest::waiting(std::vector<int> const& keys) const
{
    std::vector<waiting_task> found;
    for (int i = 0; i != board_.plan().tasks(); ++i) {
        auto const& task = board_.of_task(i);
        time const since = task.waiting_since;
        auto const key = static_cast<int>(task.key);
        bool const is_meant =
            keys.empty() ? key < board_.plan().quick_keys : std::ranges::count(keys, key) != 0;
        if (since != 0 && is_meant)
            found.push_back({i, key, since});
    }
    return found;
}

std::vector<contest::waiting_task> contest::unserved(std::vector<waiting_task> const& tasks) const
{
    std::vector<waiting_task> found;
    for (auto const& each : tasks)
        if (board_.of_task(each.number).waiting_since == each.since)
            found.push_back(each);
    return found;
}

std::int64_t contest::until_served(
    std::vector<waiting_task> const& tasks, time since, milliseconds limit
) const
{
    bool const all = holds_within(limit, [&] { return unserved(tasks).empty(); });
    return all ? ms_between(since, contest_board::now()) : -1;
}

contest::wait contest::longest_wait()
{
    time longest = 0;
    wait found;
    auto const see = [&](time waited, int key) {
        if (waited > longest)
            found = {milliseconds{ms_between(0, longest = waited)}, key};
    };
    for (int i = 0; i != board_.plan().keys(); ++i)
        see(std::max(board_.key(i).longest_wait.load(), waits_[static_cast<std::size_t>(i)]), i);
    for (int i = 0; i != board_.plan().tasks(); ++i)
        see(board_.waits_in_vain(i), static_cast<int>(board_.of_task(i).key));
    return found;
}

milliseconds contest::take_longest_wait(std::vector<int> const& keys)
{
    time longest = 0;
    for (auto const i : keys) {
        auto const here = board_.key(i).longest_wait.exchange(0);
        auto& kept = waits_[static_cast<std::size_t>(i)];
        kept = std::max(kept, here);
        longest = std::max(longest, here);
    }
    return milliseconds{ms_between(0, longest)};
}

void contest::finish(milliseconds limit)
{
    BOOST_TEST(all_run(), "a process has died");
    board_.stop();
    stopwatch const watch;
    bool all_ended = true;
    for (auto& each : processes_)
        all_ended = each.wait(std::max(0ms, limit - milliseconds{watch.ms()})) && all_ended;
    BOOST_TEST(all_ended, "hung: a process doesn't end");
    auto& count = board_.count();
    BOOST_TEST(count.ended == board_.plan().processes);
    BOOST_TEST(count.failures == 0);
    BOOST_TEST(count.stale == 0);
    // Tokens rise from holder to holder; only who has lost that lock, or was in it beside another,
    // may come with an old one.
    for (int i = 0; i != board_.plan().keys(); ++i) {
        auto const& there = board_.key(i);
        BOOST_TEST(there.fell <= there.parted, "tokens that fell at " << board_.plan().name_of(i));
    }
    BOOST_TEST(count.most_late == 0, "told late by " << ms_between(0, count.most_late) << " ms");
}

bool contest::overlapped_only(std::vector<loss_of_keys> const& losses)
{
    auto const one_lease = board_.plan().lease_ms * time{1'000'000};
    auto const overlaps =
        std::min<std::int64_t>(board_.count().overlaps, contest_board::most_overlaps);
    for (std::int64_t i = 0; i != overlaps; ++i) {
        auto const& one = board_.overlapped(static_cast<std::size_t>(i));
        bool const is_explained = std::ranges::any_of(losses, [&](loss_of_keys const& each) {
            return each.groups.contains(static_cast<int>(one.key) % board_.plan().groups) &&
                one.at >= each.since && one.at <= each.since + one_lease;
        });
        if (!is_explained)
            return false;
    }
    return overlaps == board_.count().overlaps;
}

void contest::report(std::string const& title)
{
    auto& count = board_.count();
    auto const& plan = board_.plan();
    auto const longest = longest_wait();
    std::cout << title << ":\n  " << plan.processes << " processes, " << plan.tasks() << " tasks, "
              << plan.keys() << " keys, lease " << plan.lease_ms << " ms, sync_replicas "
              << plan.sync_replicas << "; " << watch_.ms() << " ms\n  entries " << count.entries
              << ", overlaps " << count.overlaps << ", stale writes accepted " << count.stale
              << " and refused " << count.refused << " (first ones " << count.fell
              << "), holds told lost " << count.lost << " (" << count.late
              << " after their validity, by at most " << ms_between(0, count.most_late)
              << " ms), lost as their release says " << count.gone << ", errors " << count.failures
              << ", refused for the moment " << count.refusals
              << ", longest wait for a section with nobody in it " << longest.time.count()
              << " ms, for " << plan.name_of(longest.key) << std::endl;
}

}  // namespace colock::test
