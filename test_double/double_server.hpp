#pragma once

#include "counters.hpp"
#include "fair_lines.hpp"
#include "held_locks.hpp"
#include "outside.hpp"
#include "redis/transport.hpp"

#include <set>
#include <string>
#include <vector>

namespace colock::testing {

/// The data in Redis, and the effects of colock's scripts on it. Keys are whole, with the prefix.
class double_server {
public:
    explicit double_server(std::string prefix) : prefix_{std::move(prefix)} {}

    /// The answer to a step of the client.
    answer run(step const&);

    // ---- What the test says --------------------------------------------------------------------

    void occupy(std::string const& key);

    /// Somebody else gives it back, with a message; false if nobody else had it.
    bool vacate(std::string const& key);

    /// The hold of the code under test there is gone; false if it had none.
    bool remove(std::string const& key);
    void remove_all();

    bool is_held(std::string const& key);
    std::vector<std::string> held();

    std::set<std::string> refusing;
    outside others{};

private:
    bool is_of_another_type(step const&, script_call const&);
    reply run_one(step const&, script_call const&);
    reply run_many(step const&);
    reply expiring(script_call const&);
    void tell_all(std::string const& key);

    std::string prefix_;
    held_locks locks_{others};
    fair_lines lines_{others, locks_};
    counters counters_{others};
};

}  // namespace colock::testing
