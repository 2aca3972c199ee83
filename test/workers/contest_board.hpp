// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace colock::test {

/// What processes contend for. Each has quick tasks, which are in and out again, and sitters, which
/// stay for up to three seconds and write all the while. The first keys are those of the quick
/// tasks, the last ones those of the sitters.
struct contest_plan {
    int processes = 8;
    int quick_tasks = 3;
    int sitters = 1;
    int quick_keys = 20;
    int sitter_keys = 8;
    int groups = 28;  ///< of keys: those of a group have one slot
    int lease_ms = 8'000;
    int sync_replicas = 0;
    int longest_break_ms = 40;  ///< of a task between two sections

    int keys() const noexcept { return quick_keys + sitter_keys; }
    int tasks() const noexcept { return processes * (quick_tasks + sitters); }
    std::string name_of(int key) const
    {
        return "contest:{" + std::to_string(key % groups) + "}:" + std::to_string(key);
    }
};

/// What processes tell each other and the test. All times are those of the steady clock, which is
/// one for all processes, in nanoseconds.
class contest_board {
public:
    using time = std::int64_t;
    using number = std::atomic<std::int64_t>;
    static_assert(number::is_always_lock_free);

    static constexpr unsigned most_keys = 256, most_tasks = 128, most_processes = 16;

    /// A section, and the store behind it, which refuses older tokens.
    struct place {
        std::atomic_flag busy;  ///< a writer at the store
        std::uint64_t highest;  ///< token that the store has seen
        std::int64_t writers;   ///< how many have come to the store
        std::int64_t newest;    ///< which of them it has accepted last as a new one
        number believers;       ///< inside, and not told of any loss
        number last_entry;
        number last_exit;
        number longest_wait;  ///< of an acquire, from when nobody was inside any more
    };
    struct task {
        number waiting_since;  ///< 0: it doesn't wait
        number key;            ///< that it wants, or wanted last
    };
    struct totals {
        number entries;
        number overlaps;   ///< somebody came in while another was inside, and both believed
        number stale;      ///< writes that the store accepted of one who wasn't the newest
        number refused;    ///< writes that it refused
        number fell;       ///< of them, first ones: the token was below an earlier one
        number lost;       ///< holds
        number failures;   ///< acquires with an error
        number gone;       ///< holds of whose loss only their release told
        number late;       ///< holds that were told of their loss after their validity
        number most_late;  ///< by how much at most
        number ended;      ///< processes that have closed their clients
    };

    explicit contest_board(std::string const& file)
        : memory_{file, sizeof(contents)}
        , all_{static_cast<contents*>(memory_.at())}
    {}

    static time now() noexcept
    {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
    }

    void begin(contest_plan const& plan) { all_->plan = plan; }
    contest_plan const& plan() const { return all_->plan; }

    void stop() { all_->stopped = 1; }
    bool is_on() const { return all_->stopped == 0; }

    totals& count() { return all_->count; }
    place& key(int i) { return all_->keys.at(static_cast<std::size_t>(i)); }
    task& of_task(int i) { return all_->tasks.at(static_cast<std::size_t>(i)); }
    task const& of_task(int i) const { return all_->tasks.at(static_cast<std::size_t>(i)); }
    number& last_entry_of(int process)
    {
        return all_->last_entries.at(static_cast<std::size_t>(process));
    }

    /// Who has got a lock comes in.
    void enter(int process, int which, time waited)
    {
        auto& there = key(which);
        if (there.believers.fetch_add(1) != 0)
            ++all_->count.overlaps;
        time const at = now();
        there.last_entry = last_entry_of(process) = at;
        raise(there.longest_wait, std::min(waited, at - there.last_exit));
        ++all_->count.entries;
    }

    /// He goes, or is told that he has lost it.
    void leave(int which)
    {
        key(which).last_exit = now();
        --key(which).believers;
    }

    /// How long a task waits now for a lock in whose section nobody is.
    time waits_in_vain(int which_task)
    {
        auto const& who = of_task(which_task);
        time const since = who.waiting_since;
        auto const& there = key(static_cast<int>(who.key));
        if (since == 0 || there.believers != 0)
            return 0;
        return now() - std::max(since, there.last_exit.load());
    }

    /// His first write. Gives his number at the store.
    std::int64_t introduce(int which, std::uint64_t token)
    {
        auto& there = key(which);
        guard const alone{there.busy};
        auto const mine = ++there.writers;
        if (is_admitted(there, token))
            there.newest = mine;
        else
            ++all_->count.fell;
        return mine;
    }

    /// The next ones.
    void write(int which, std::uint64_t token, std::int64_t writer)
    {
        auto& there = key(which);
        guard const alone{there.busy};
        if (is_admitted(there, token) && there.newest != writer)
            ++all_->count.stale;
    }

    static void raise(number& what, std::int64_t to)
    {
        auto was = what.load();
        while (was < to && !what.compare_exchange_weak(was, to)) {}
    }

private:
    struct contents {
        contest_plan plan;
        std::atomic<int> stopped;
        totals count;
        std::array<place, most_keys> keys;
        std::array<task, most_tasks> tasks;
        std::array<number, most_processes> last_entries;
    };

    /// Between processes: a mutex of this one isn't enough.
    class guard {
    public:
        explicit guard(std::atomic_flag& what) : what_{what}
        {
            while (what_.test_and_set(std::memory_order_acquire)) {}
        }
        guard(guard const&) = delete;
        guard& operator=(guard const&) = delete;
        ~guard() { what_.clear(std::memory_order_release); }

    private:
        std::atomic_flag& what_;
    };

    bool is_admitted(place& there, std::uint64_t token)
    {
        if (token < there.highest) {
            ++all_->count.refused;
            return false;
        }
        there.highest = token;
        return true;
    }

    shared_memory memory_;
    contents* all_;
};

}  // namespace colock::test
