#pragma once

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

using steady = std::chrono::steady_clock;

/// What the command line says.
struct plan {
    std::string workload;
    colock::config redis;
    double seconds = 5;
    double warmup = 1;
    int workers = 0;  // 0: the workload's own number
    std::string variant = "default";
    std::string key = "peerlock";
};

/// What one worker has done. Latencies are in nanoseconds and count after the warm-up.
struct tally {
    std::vector<std::uint32_t> latencies;
    std::int64_t acquired = 0;
    std::int64_t acquired_in_all = 0;
    std::int64_t errors = 0;
    steady::duration pinging{};  // within the measured time
};

/// What a run has measured.
struct report {
    plan asked;
    std::vector<tally> workers;
    std::vector<std::uint32_t> pings;       // between the pairs, where one worker is alone
    std::vector<std::uint32_t> ping_burst;  // one after the other, before the workers begin
    double script_seconds = 0;              // the server's time in EVALSHA during the window
    double window_seconds = 0;
    double server_cpu_seconds = 0;

    std::string to_json() const;
};

/// W1 and W2: each worker has a key of its own; acquire, release, again.
report run_pairs(plan const&);

}  // namespace bench
