// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "checker/checker.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace colock::test {

constexpr auto never_ends = std::numeric_limits<std::int64_t>::max();

/// What one task did with one lock, once.
struct recorded_attempt {
    std::int64_t asked = never_ends;
    std::int64_t got = never_ends;
    /// The server has admitted it, or who passed it on, after this, or has said yes again to what
    /// was sent then; 0: isn't known. When it was asked for says nothing of what was passed on,
    /// perhaps by who doesn't know yet that he has lost it.
    std::int64_t admitted_after = 0;
    std::int64_t valid_until = 0;   ///< when it was noted that it was got
    bool in_vain = false;           ///< it was over then
    std::int64_t end = never_ends;  ///< of the hold, or of the attempt if there was none
    std::uint64_t token = 0;
    std::uint32_t process = 0;
    bool shared = false;
    ending how = ending::released;
    std::vector<event const*> writes, refused_writes;

    bool is_hold() const noexcept { return got != never_ends; }
};

/// A process did not run.
struct recorded_stop {
    std::int64_t begin, end;
    bool by_signal = false;
    bool is_short = false;  ///< no reason not to hear of a loss in time
};
using stops_by_process = std::map<std::uint32_t, std::vector<recorded_stop>>;

/// What happened outside of the attempts.
struct recorded_troubles {
    std::int64_t lease = 0;
    stops_by_process stops;
    std::vector<event const*> taken;
};

/// Adds what is wrong with all the attempts at one lock, as is known at the end of the history.
void judge(std::uint32_t key, std::vector<recorded_attempt const*> const& attempts, recorded_troubles const&, findings&);

/// Judges exclusion by what the holds say of themselves, and by nothing else.
///
/// A hold is protected from the moment at which it is noted as got until the last `valid_until`
/// that it has noted, or until it leaves or is told of its loss, if that is sooner. Nobody else may
/// get in meanwhile, whether or not a process was stopped, stood still or was killed. The one
/// exception is a server that loses what it had granted (`what::taken`): it ends the protection of
/// the holds that nothing has proved since.
///
/// \param history in the order of time
/// \param lease in nanoseconds
void judge_protection(std::vector<event> const& history, std::int64_t lease, findings& found);

}  // namespace colock::test
