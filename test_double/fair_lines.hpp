#pragma once

#include "held_locks.hpp"

#include <deque>
#include <map>
#include <string>

namespace colock::testing {

/// The waiters for fair locks, in order: only tickets of the code under test, which all live.
class fair_lines {
public:
    fair_lines(outside& o, held_locks& l) : outside_{o}, locks_{l} {}

    // The scripts of these names.
    reply acquire(script_call const&);
    reply keep(script_call const&);
    reply release(script_call const&);
    reply force(script_call const&);

    /// Tells the first whose turn it is; how many have heard it.
    std::int64_t tell_first(std::string const& key, std::string const& channel);

    void forget() { lines_.clear(); }

private:
    reply ask_in(std::string const& key);

    outside& outside_;
    held_locks& locks_;
    std::map<std::string, std::deque<std::string>> lines_;
};

}  // namespace colock::testing
