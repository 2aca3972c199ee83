// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/arena.hpp"
#include "integration/suites.hpp"
#include "support/any_kind.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace colock::test {

/// What a fault leaves standing.
enum class promise {
    /// The server keeps its data and its clock, and who holds a lock runs: nobody gets in before
    /// the holder has been told.
    exclusion,
    /// The same, but the holder doesn't run, so it can't be told.
    exclusion_of_who_runs,
    /// The server loses what it has granted: for that the fence alone holds.
    fence
};

/// Something bad that happens to an arena for a while.
struct fault {
    std::string name;
    promise leaves;
    std::function<void(arena&)> begin;
    std::function<void(arena&)> end = [](arena&) {};
    /// How long it lasts: from the least to the most milliseconds, at random.
    int least = 0;
    int most = 0;
    /// Nobody need be served before it is over.
    bool excuses = true;
    /// A hold may be lost by it: nobody may be able to renew it for as long as its lease.
    bool loses_holds = true;
    /// Who leaves a queue or a wait list meanwhile can't say so.
    bool strands_places = false;
    /// The server answers requests with errors meanwhile that no waiting mends.
    bool refuses = false;
    /// The server loses all that it has granted, sometime between its begin and its end.
    bool takes_all = false;
    /// A process with all that it has: what has no lease would be out for good.
    bool kills = false;
};

std::ostream& operator<<(std::ostream&, fault const&);

std::vector<fault> const& all_faults();

/// Those that leave this.
std::vector<fault> faults_that_leave(promise);

/// An arena for these with keys of as many kinds as they allow: all ten, unless somebody who dies
/// or is stopped would have something without a lease, which nobody gives back or tells him of.
arena_plan arena_for(std::vector<fault> const&);

/// By its name.
fault const& fault_named(std::string const& name);

/// So many permits the semaphores of these tests have, and so high their latches begin.
inline constexpr int chaos_permits = 2;

/// What is at the server for a name and should not be when nobody uses it, as text; empty if all is
/// well. Of semaphores, `missing` permits may be out.
std::string leftovers(redis_server&, kind, std::string const& name, int missing = 0);

/// The same of a client's tables. Subscriptions, and what is known of others who want a key,
/// linger: they are none of it, unless asked for.
std::string leftovers(client const&, bool what_lingers);

/// How often each fault is tried alone, and how many pairs are: COLOCK_CHAOS_TRIALS. By default
/// each once, all in one arena.
inline int chaos_trials() { return from_environment("COLOCK_CHAOS_TRIALS", 1); }

/// Trials in one arena, and what they show together.
class series {
public:
    series(std::string title, arena_plan, server_kind = usual_server());
    series(series const&) = delete;
    series& operator=(series const&) = delete;
    /// Keeps what the processes of a test that has failed have written.
    ~series();

    arena& at() noexcept { return arena_; }

    /// Everybody works, the faults happen over each other, and end; then each process must get in.
    void undergo(std::vector<fault> const&);

    /// Ends the work, checks what may never be, and prints a line.
    findings const& finish();

    /// That nobody was inside beside another who ran and had not been told; and that tokens rise
    /// from holder to holder.
    void check_exclusion();

    /// That where two were inside the first was told soon.
    void check_notice();

    /// That somebody slept through a lease: that he heard of it is checked always.
    void check_awakening();

    /// That no hold was lost.
    void check_that_nothing_is_lost();

    /// That something was so by a bound that presumes a machine which lets every process run.
    void expect(bool is_so, std::string const& otherwise);

    /// Whether all that was expected was so, or is known not to be. A series on a machine that
    /// stood still shows neither, where what was expected was not so.
    bool is_conclusive() const noexcept { return doubts_.empty(); }

private:
    void check_waits();
    void check_leftovers() const;
    bool machine_stood_still() const;
    std::int64_t longest_attempt_in_a_queue() const;

    std::string title_;
    arena arena_;
    int trials_ = 0;
    bool stops_processes_ = false;
    std::int64_t slowest_ = 0;  ///< until all processes had been inside again
    findings found_;
    std::vector<std::string> doubts_;
};

/// Does a series again until it is conclusive; a machine on which it never is fails it.
/// \param one does it and returns whether it was
void until_conclusive(std::function<bool()> const& one);

}  // namespace colock::test
