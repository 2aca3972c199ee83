// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "support/child_process.hpp"
#include "support/places.hpp"
#include "support/shared_memory.hpp"
#include "workers/contest_board.hpp"

#include <array>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// A bound for a machine that does other things as well: how long it took is printed.
inline constexpr std::chrono::milliseconds back_to_work{3'000};

/// How often the tests do their worst: COLOCK_CHAOS_ROUNDS, or 1.
int chaos_rounds();

/// The least, the middle and the greatest of some figures.
std::string spread(std::vector<std::int64_t> of, std::string_view unit = "ms");

/// Processes that contend for locks while the servers go through worse. They are killed with this
/// object.
class contest {
public:
    using time = contest_board::time;

    /// A task in one of its waits.
    struct waiting_task {
        int number = 0;
        int key = 0;
        time since = 0;
    };

    /// They have begun to work when this returns. They ask `others_first` where the servers are.
    contest(
        config where,
        std::vector<address> const& others_first,
        contest_plan const& plan,
        unsigned seed
    );

    contest_board& board() noexcept { return board_; }

    /// Milliseconds from then on until each process has been inside again; -1 if one wasn't within
    /// the limit.
    std::int64_t until_all_enter(time since, milliseconds limit);

    /// The tasks that wait for quick sections of these keys; all quick ones, if none are named.
    std::vector<waiting_task> waiting(std::vector<int> const& keys = {}) const;

    /// Those of them that wait yet.
    std::vector<waiting_task> unserved(std::vector<waiting_task> const& tasks) const;

    /// Milliseconds from then on until all of them have got in; -1 if one hasn't within the limit.
    std::int64_t until_served(
        std::vector<waiting_task> const& tasks, time since, milliseconds limit
    ) const;

    /// The longest that a task has waited for a lock in whose section nobody was, also where it
    /// waits yet.
    struct wait {
        milliseconds time{0};
        int key = 0;
    };
    wait longest_wait();

    /// The same of some keys, since it was asked for last.
    milliseconds take_longest_wait(std::vector<int> const& keys);

    /// Lets them end their work, and checks that all do, within the limit, and the rest that is
    /// always true.
    void finish(milliseconds limit);

    /// The server of some groups of keys was taken away then.
    struct loss_of_keys {
        std::set<int> groups;
        time since = 0;
    };

    /// Whether two were only ever inside where a server was taken away, and no later than a lease
    /// after that.
    bool overlapped_only(std::vector<loss_of_keys> const& losses);

    /// Prints what there was.
    void report(std::string const& title);

private:
    bool all_run();

    temporary_file file_;
    contest_board board_{file_.path()};
    std::array<time, contest_board::most_keys> waits_{};  ///< those that were taken
    stopwatch watch_;
    std::vector<child_process> processes_;
};

/// Milliseconds between two times of a board.
inline std::int64_t ms_between(contest::time first, contest::time second)
{
    return (second - first) / 1'000'000;
}

}  // namespace colock::test
