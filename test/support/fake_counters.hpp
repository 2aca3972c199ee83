// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/fake_transport.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

/// A server that knows the scripts of semaphores, permit semaphores and latches.
class fake_counters {
public:
    /// Answers what `to` writes; messages go to it too, and to those attached before.
    void attach(fake_transport& to);

    /// Runs a call; without its answer, if the test wants to lose that.
    reply run(call const&);

    std::map<std::string, std::int64_t> counters;
    /// Of each semaphore the ids that are out, and until when.
    std::map<std::string, std::map<std::string, time_point>> leases;

private:
    reply run_acquire(call const&);
    reply run_undo(call const&);
    reply run_change(call const&);
    reply run_permit(call const&);
    reply run_permit_acquire(call const&);
    void end_leases(std::string const& name);

    struct record {
        std::int64_t number = 0, result = 0;
    };
    std::map<std::string, record> records_;
    void publish(std::string const& channel);

    std::vector<fake_transport*> to_;
};

}  // namespace colock::test
