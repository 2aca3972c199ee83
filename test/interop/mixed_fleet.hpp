// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/shared_memory.hpp"
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

/// What all processes of a fleet share. Who enters the section says so here, and looks who else is
/// inside.
class scoreboard {
public:
    enum place : unsigned {
        writers,   ///< inside, excluding all others
        readers,   ///< inside together
        overlaps,  ///< how often somebody met whom he must not
        sections,  ///< how often somebody was inside
        expected,  ///< processes
        arrived,   ///< processes that are ready: they begin together
        places
    };

    explicit scoreboard(std::string const& file) : numbers_{file, places} {}

    int get(place which) const { return numbers_.get(which); }
    int add(place which, int by) { return numbers_.add(which, by); }

    void enter(bool reading)
    {
        int const before = add(reading ? readers : writers, 1);
        if ((!reading && before != 0) || get(reading ? writers : readers) != 0)
            add(overlaps, 1);
    }
    void leave(bool reading)
    {
        add(sections, 1);
        add(reading ? readers : writers, -1);
    }

private:
    shared_numbers numbers_;
};

}  // namespace colock::test
