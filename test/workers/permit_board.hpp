// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/shared_memory.hpp"

#include <string>

namespace colock::test {

/// Where processes say how many permits they have, and look whether all together have too many.
class permit_board {
public:
    static constexpr unsigned most_processes = 32;

    explicit permit_board(std::string const& file) : numbers_{file, first + most_processes} {}

    void run_for(int count) { numbers_.set(limit, count); }
    bool is_on() const { return numbers_.get(done) < numbers_.get(limit); }
    int operations() const { return numbers_.get(done); }

    /// How often there were more out than there are.
    int excesses() const { return numbers_.get(excess); }

    /// Those of all processes, of the dead as well.
    int out() const
    {
        int sum = 0;
        for (unsigned i = 0; i != most_processes; ++i)
            sum += numbers_.get(first + i);
        return sum;
    }

    void took(unsigned index, int permits)
    {
        numbers_.add(first + index, 1);
        if (out() > permits)
            numbers_.add(excess, 1);
    }
    void gives(unsigned index) { numbers_.add(first + index, -1); }
    void count(int operations) { numbers_.add(done, operations); }

    /// A process that died has none any more.
    void forget(unsigned index) { numbers_.set(first + index, 0); }

private:
    enum place : unsigned { done, limit, excess, first };

    shared_numbers numbers_;
};

}  // namespace colock::test
