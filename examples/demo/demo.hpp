// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Three processes share locks, one is killed while it holds some, and their parent checks by their
// own words that no two were ever in the same section.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

using clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC: the same for all processes
using time_point = clock::time_point;
using std::chrono::milliseconds;

/// The last one is what the story is about; on the others the processes just take turns.
inline constexpr std::array<std::string_view, 4> keys{"order:1", "order:2", "order:3", "report"};
inline constexpr std::size_t story_key = keys.size() - 1;

inline constexpr std::size_t workers = 3;
inline constexpr std::size_t victim = 2;
inline constexpr milliseconds lease{1'000};

/// An event that a worker reports; the parent sees the worker's end.
struct event {
    enum class kind : std::uint8_t { waits, enters, renewed, lost, leaves, ends };

    kind what{};
    std::uint8_t worker = 0;
    std::uint8_t key = 0;
    std::uint32_t section = 0;  ///< of enters and leaves: its number within the worker
    std::uint64_t token = 0;
    clock::duration span{};  ///< enters: how long it waited; renewed: how long that is valid
    time_point at{};
};

/// The orders for one process, before it begins.
struct assignment {
    std::uint8_t index = 0;
    int events = -1;  ///< a pipe to tell its events
    std::string url{};
    bool locking = true;  ///< false: shows that the check finds what goes wrong then
    time_point start{};
};

/// Runs a worker until SIGTERM; gives the exit status of its process.
int work(assignment const&);

struct findings {
    std::array<std::size_t, workers> entered{};
    std::size_t sections = 0;
    std::size_t overlaps = 0;   ///< sections that began before all earlier ones were over
    std::size_t stale = 0;      ///< sections whose token is not above that of the one before
    std::size_t handovers = 0;  ///< sections whose worker is another than that of the one before
    bool succeeded = false;     ///< somebody got the lock that the victim died with
};

/// Looks through the sections of each key in the order in which they began. One that its worker did
/// not leave lasts until that one was seen to be dead. Nothing here knows of the lock, so it can
/// prove it wrong.
findings check(std::vector<event> const&);

/// Shows on the terminal what happens: the story line by line, the traffic once a second.
class timeline {
public:
    timeline(time_point start, bool colours) : start_{start}, colours_{colours} {}

    void introduce(bool locking);
    void show(event const&);
    void show_traffic(time_point now);

    std::string letter(std::size_t worker) const;
    std::string paint(std::string_view text, char const* colour) const;

private:
    struct key_state {
        bool inside = false;
        std::size_t who = workers;  ///< who is inside, or was last
        time_point since{};         ///< when it got in, or out
        bool orphaned = false;      ///< it was killed inside
    };

    void line(time_point at, std::string_view about, std::string const& text) const;
    void show_entry(event const&);
    void show_end(event const&);

    time_point start_;
    bool colours_;
    std::array<key_state, keys.size()> keys_{};
    std::array<std::size_t, workers> entries_{};  ///< of the second that runs
    std::size_t handovers_ = 0;
    clock::duration longest_wait_{};
};

}  // namespace demo
