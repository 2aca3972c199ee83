// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/shared_numbers.hpp"

#include <string>

namespace colock::test {

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
