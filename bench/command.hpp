// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "plan.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace CLI {
class App;
}

namespace bench {

/// What a command line asks for, beside the server.
struct request {
    plan asked{};

    // What is no option of its own name in the plan.
    int links = 2;
    int hold_us = -1;
    int lease_ms = 0;
    int poll_cap_ms = 0;
    int max_tenure_ms = -1;
    bool no_fencing = false;
    bool metrics = false;
};

/// The workload and its options.
void add_options(CLI::App&, request&);

/// After `add_options`: what the workloads are compared with, and the options for that. The colock
/// command does without.
void add_yardsticks(CLI::App&, request&);

/// A line a workload.
std::string list_of_workloads();
std::string list_of_yardsticks();

/// What the workload does, in some words.
std::string describe(request const&);

/// With the numbers of the workload where the command line has none.
plan plan_of(request const&, colock::config where);

/// Runs the plan, and gives the line to print.
boost::json::object measure(plan const&);

}  // namespace bench
