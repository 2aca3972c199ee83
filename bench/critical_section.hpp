#pragma once

#include "statistics.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// What the processes on one key share.
struct board {
    std::atomic<bool> open{false};  // the work may begin
    std::atomic<int> inside{0};
    std::atomic<int> last{-1};             // the process that was inside last
    std::atomic<std::int64_t> leaving{0};  // ns of the steady clock, when it called release
};

/// One process's way in and out: proves that nobody else is inside, counts the turns, and how long
/// this process as a whole waits for one. A turn is a run of acquisitions by one process.
class critical_section {
public:
    /// With `file`, that is made on the way in and must not be there: a proof between processes
    /// that share nothing else.
    critical_section(board& common, int process, window when, std::string file);

    /// A worker begins to wait.
    void arrive(steady::time_point now);

    /// He waits no more, and has got nothing.
    void give_up();

    void enter(steady::time_point now);

    /// To be called right before the release.
    void leave(steady::time_point now);

    /// Adds turns, client_wait_*, handover_ns, overlaps and mutex_ok.
    void describe(json::object& into);

private:
    bool take_place();
    void begin_turn(steady::time_point now, std::int64_t handover);

    board& common_;
    int process_;
    window when_;
    std::string file_;
    bool made_file_ = false;

    int waiting_ = 0;
    bool inside_ = false;
    std::optional<steady::time_point> waits_since_;  // while others wait here and nobody holds

    std::int64_t turns_ = 0;
    std::int64_t overlaps_ = 0;
    samples client_waits_;  // one a turn
    samples handovers_;     // from another process's release to the first line of ours
};

}  // namespace bench
