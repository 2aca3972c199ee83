#include "statistics.hpp"

#include <algorithm>
#include <numeric>

namespace bench {

double samples::microseconds(double quantile)
{
    if (nanoseconds_.empty())
        return 0;
    if (!sorted_) {
        std::ranges::sort(nanoseconds_);
        sorted_ = true;
    }
    auto const last = static_cast<double>(nanoseconds_.size() - 1);
    return static_cast<double>(nanoseconds_[static_cast<std::size_t>(quantile * last)]) / 1e3;
}

void samples::describe(json::object& into)
{
    into["p50_us"] = microseconds(0.5);
    into["p99_us"] = microseconds(0.99);
    into["max_us"] = microseconds(1.0);
}

ledger::ledger(int workers, window when)
    : when_{when}
    , by_worker_(static_cast<std::size_t>(workers))
{}

void ledger::note(int id, steady::time_point from, steady::time_point to, steady::duration latency)
{
    ++acquired_in_all_;
    if (!when_.holds(from, to))
        return;
    ++by_worker_[static_cast<std::size_t>(id)];
    latencies_.add(latency);
}

std::int64_t ledger::acquired() const
{
    return std::accumulate(by_worker_.begin(), by_worker_.end(), std::int64_t{0});
}

void ledger::describe(json::object& into, steady::duration idle)
{
    auto const [least, most] = std::ranges::minmax(by_worker_);
    latencies_.describe(into);
    into["acq"] = acquired();
    into["acq_all"] = acquired_in_all_;
    into["errors"] = errors_;
    into["rate"] = static_cast<double>(acquired()) / seconds(when_.end - when_.begin - idle);
    into["min_w"] = least;
    into["max_w"] = most;
    into["overlaps"] = overlaps_;
    into["mutex_ok"] = overlaps_ == 0;
}

}  // namespace bench
