#include "statistics.hpp"

#include <algorithm>
#include <numeric>

namespace bench {

namespace {

constexpr int rounds_to_warm_up = 200;

}  // namespace

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

ledger::ledger(plan const& asked) : ledger{asked.workers, window_of(asked)}
{
    rounds_ = asked.rounds;
    begun_.resize(by_worker_.size());
    if (rounds_)
        when_ = {steady::time_point::max(), steady::time_point::max()};
    latencies_.reserve(1 << 20);
}

bool ledger::goes_on(int id, steady::time_point now)
{
    after_ = allocated;
    acquired_after_ = acquired_in_all_;
    auto const round = begun_[static_cast<std::size_t>(id)]++;
    if (rounds_ && round == rounds_to_warm_up + rounds_) {
        when_.end = now + steady::duration{1};
        return false;
    }
    if (!counting_ && (rounds_ ? round == rounds_to_warm_up : now > when_.begin))
        begin_to_count(now);
    return rounds_ || now <= when_.end;
}

void ledger::begin_to_count(steady::time_point now)
{
    counting_ = true;
    if (rounds_)
        when_.begin = now - steady::duration{1};
    acquired_before_ = acquired_in_all_;
    left_out_ = {};
    before_ = after_;
}

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
    auto const counted = after_ - before_ - left_out_;
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
    if (auto const all = acquired_after_ - acquired_before_; counting_ && before_.calls && all) {
        into["allocs_per_acq"] = static_cast<double>(counted.calls) / static_cast<double>(all);
        into["alloc_bytes_per_acq"] = static_cast<double>(counted.bytes) / static_cast<double>(all);
    }
}

}  // namespace bench
