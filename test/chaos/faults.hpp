// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/arena.hpp"

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
    /// Who leaves a queue meanwhile can't say so.
    bool strands_places = false;
    /// The server answers requests with errors meanwhile that no waiting mends.
    bool refuses = false;
    /// The server loses all that it has granted, sometime between its begin and its end.
    bool takes_all = false;
};

std::ostream& operator<<(std::ostream&, fault const&);

std::vector<fault> const& all_faults();

/// Those that leave this.
std::vector<fault> faults_that_leave(promise);

/// By its name.
fault const& fault_named(std::string const& name);

}  // namespace colock::test
