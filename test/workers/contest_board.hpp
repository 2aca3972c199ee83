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
    static constexpr unsigned most_overlaps = 4'096;

    /// A section, and the store behind it, which refuses older tokens.
    struct place {
        std::atomic_flag busy;  ///< a writer at the store
        std::uint64_t highest;  ///< token that the store has seen
        time newest_admission;  ///< of those whose writes it has accepted
        number believers;       ///< inside, and not told of any loss
        number fell;            ///< holds whose token was below an earlier one
        number parted;          ///< holds that were lost, or that began beside another
        number last_entry;
        number last_exit;
        number longest_wait;  ///< of an acquire, from when nobody was inside any more
    };
    /// Who writes to the store.
    struct writer {
        std::uint64_t token = 0;
        time got = 0;
        time admitted_after = 0;  ///< the server has granted it after this
    };
    /// Somebody came in while another was inside.
    struct overlap {
        number key;
        number at;
    };
    struct task {
        number waiting_since;  ///< 0: it doesn't wait
        number key;            ///< that it wants, or wanted last
    };
    struct totals {
        number entries;
        number overlaps;   ///< somebody came in while another was inside, and both believed
        number stale;      ///< writes that the store accepted after one of a later holder
        number refused;    ///< writes that it refused
        number fell;       ///< of them, first ones: the token was below an earlier one
        number lost;       ///< holds
        number failures;   ///< acquires with an error
        number refusals;   ///< acquires that the server refused for the moment: it lacks replicas
        number gone;       ///< holds of whose loss only their release told
        number late;       ///< holds that were told of their loss after their validity
        number most_late;  ///< by how much at most, but for time in which its process stood still
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
        time const at = now();
        if (there.believers.fetch_add(1) != 0)
            note_overlap(which, at);
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

    /// The n-th overlap, while there are so many.
    overlap const& overlapped(std::size_t n) const { return all_->overlaps.at(n); }

    /// A hold was lost, as it was told or as its release says.
    void part(int which) { ++key(which).parted; }

    /// His first write.
    void introduce(int which, writer const& who)
    {
        if (!write(which, who)) {
            ++key(which).fell;
            ++all_->count.fell;
        }
    }

    /// Whether the store has accepted it. It knows tokens alone; that a later holder has written
    /// before is seen by when each was granted its lock.
    bool write(int which, writer const& who)
    {
        auto& there = key(which);
        guard const alone{there.busy};
        if (who.token < there.highest) {
            ++all_->count.refused;
            return false;
        }
        there.highest = who.token;
        if (there.newest_admission > who.got)
            ++all_->count.stale;
        there.newest_admission = std::max(there.newest_admission, who.admitted_after);
        return true;
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
        std::array<overlap, most_overlaps> overlaps;
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

    void note_overlap(int which, time at)
    {
        auto const n = static_cast<std::size_t>(all_->count.overlaps++);
        part(which);
        if (n >= most_overlaps)
            return;
        all_->overlaps[n].key = which;
        all_->overlaps[n].at = at;
    }

    shared_memory memory_;
    contents* all_;
};

}  // namespace colock::test
