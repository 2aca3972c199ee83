// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>

#include <chrono>
#include <string>

namespace colock::test {

/// Processes of both sides that enter one section in turns.
struct fleet_size {
    int jvms = 2;
    int of_ours = 2;
    int tasks = 8;  ///< threads of a JVM, tasks of a process of ours
    int sections = 20'000;
    std::chrono::microseconds stay{20};                         ///< inside
    std::chrono::milliseconds max_tenure{config{}.max_tenure};  ///< of our clients
    double least_share = 0.05;                                  ///< of the turns, for each process
    std::chrono::seconds limit{240};
};

/// Runs them and checks that nobody met another inside, and that nobody starved. A turn is the time
/// from a grant of the server to the release there: with hand-over, a turn of ours has many
/// sections.
void fleet_of(std::string const& kind, fleet_size const&);

}  // namespace colock::test
