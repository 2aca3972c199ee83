#pragma once

#include "allocations.hpp"
#include "plan.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

namespace json = boost::json;

/// Durations, and what they say together.
class samples {
public:
    void reserve(std::size_t n) { nanoseconds_.reserve(n); }

    void add(steady::duration d)
    {
        nanoseconds_.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(d).count());
        sorted_ = false;
    }

    std::size_t size() const noexcept { return nanoseconds_.size(); }
    std::vector<std::int64_t> const& nanoseconds() const noexcept { return nanoseconds_; }

    /// 0 of nothing.
    double microseconds(double quantile);

    /// As p50_us, p99_us and max_us.
    void describe(json::object& into);

private:
    std::vector<std::int64_t> nanoseconds_;
    bool sorted_ = true;
};

/// What the workers of one process have done.
class ledger {
public:
    ledger(int workers, window when);

    /// For workers that ask `goes_on` before each round.
    explicit ledger(plan const& asked);

    /// Whether worker `id` begins another round now: for the plan's rounds, or else until the end
    /// of the time.
    bool goes_on(int id, steady::time_point now);

    /// Allocations that aren't those of an acquisition.
    void leave_out(allocation_count const& count) noexcept { left_out_ += count; }

    window const& when() const noexcept { return when_; }

    /// Worker `id` had the lock and gave it back; `latency` is the part of that which is measured.
    void note(int id, steady::time_point from, steady::time_point to, steady::duration latency);

    void note_error() noexcept { ++errors_; }
    void note_overlap() noexcept { ++overlaps_; }

    std::int64_t acquired() const;
    std::int64_t acquired_in_all() const noexcept { return acquired_in_all_; }
    std::int64_t overlaps() const noexcept { return overlaps_; }
    samples& latencies() noexcept { return latencies_; }

    /// The fields that every workload has. `idle` is part of the window in which a lone worker did
    /// something else.
    void describe(json::object& into, steady::duration idle = {});

private:
    void begin_to_count(steady::time_point now);

    window when_;
    int rounds_ = 0;
    std::vector<int> begun_;  // rounds by worker
    bool counting_ = false;
    // At the begin and at the end of the measured time.
    allocation_count before_;
    allocation_count after_;
    std::int64_t acquired_before_ = 0;
    std::int64_t acquired_after_ = 0;
    allocation_count left_out_;
    std::vector<std::int64_t> by_worker_;
    std::int64_t acquired_in_all_ = 0;
    std::int64_t errors_ = 0;
    std::int64_t overlaps_ = 0;
    samples latencies_;
};

}  // namespace bench
