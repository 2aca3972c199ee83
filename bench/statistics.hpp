#pragma once

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
    window when_;
    std::vector<std::int64_t> by_worker_;
    std::int64_t acquired_in_all_ = 0;
    std::int64_t errors_ = 0;
    std::int64_t overlaps_ = 0;
    samples latencies_;
};

}  // namespace bench
