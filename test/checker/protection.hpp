// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "checker/checker.hpp"

#include <cstdint>
#include <vector>

namespace colock::test {

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
