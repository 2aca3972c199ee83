// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/arena.hpp"
#include "chaos/faults.hpp"
#include "chaos/leftovers.hpp"
#include "support/from_environment.hpp"

#include <string>
#include <vector>

namespace colock::test {

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

    /// That nobody was inside with another, but for a process that the machine gave no time to run;
    /// and that tokens rise from holder to holder.
    void check_exclusion() const;

    /// That where two were inside the first was told soon.
    void check_notice() const;

    /// That who ran again after a stop of more than a lease heard of the loss.
    void check_awakening() const;

    /// That no hold was lost, if the machine gave everybody time to renew it.
    void check_that_nothing_is_lost() const;

private:
    std::int64_t longest_wait() const;
    std::int64_t longest_attempt_in_a_queue() const;

    std::string title_;
    arena arena_;
    int trials_ = 0;
    std::int64_t slowest_ = 0;  ///< until all processes had been inside again
    findings found_;
};

}  // namespace colock::test
