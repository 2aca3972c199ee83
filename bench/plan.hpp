#pragma once

#include <colock/config.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace bench {

using steady = std::chrono::steady_clock;

/// What the command line says. Zero, or less in `hold`, is the workload's own number until
/// `with_defaults` has put it in.
struct plan {
    std::string workload;
    colock::config redis;
    double seconds = 0;
    double warmup = 1;
    int rounds = 0;  // of each worker in W1, W2 and PING, instead of a time
    int workers = 0;
    int locks = 0;
    int processes = 0;
    int hungry = 0;  // workers of the first process, if it has more than the others
    bool poller = false;
    bool raw = false;  // bare sockets instead of colock
    std::chrono::microseconds hold{-1};
    std::int64_t start_at = 0;  // ms of the epoch
    std::string variant = "default";
    std::string key = "peerlock";
    std::string exclusive_file = "/dev/shm/peerlock.x";

    /// Where the server tells what it has spent, if that isn't the address of the locks.
    std::optional<colock::address> info;
};

plan with_defaults(plan);

/// The time that counts: an acquisition that begins before it or ends after it doesn't.
struct window {
    steady::time_point begin;
    steady::time_point end;

    bool holds(steady::time_point from, steady::time_point to) const noexcept
    {
        return from > begin && to < end;
    }
};

/// After the warm-up, or from the moment that the plan names.
window window_of(plan const&);

inline steady::duration seconds(double s)
{
    return std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>{s});
}

inline double seconds(steady::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace bench
