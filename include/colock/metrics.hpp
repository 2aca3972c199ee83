// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/observer.hpp>

#include <boost/system/error_code.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v0_3 {

/// A histogram of durations, in buckets that never change.
struct duration_histogram {
    using microseconds = std::chrono::microseconds;

    /// The upper bound of each bucket; one more bucket has the longer durations.
    static constexpr std::array<microseconds, 19> bounds{
        microseconds{100},
        microseconds{250},
        microseconds{500},
        microseconds{1'000},
        microseconds{2'500},
        microseconds{5'000},
        microseconds{10'000},
        microseconds{25'000},
        microseconds{50'000},
        microseconds{100'000},
        microseconds{250'000},
        microseconds{500'000},
        microseconds{1'000'000},
        microseconds{2'500'000},
        microseconds{5'000'000},
        microseconds{10'000'000},
        microseconds{30'000'000},
        microseconds{60'000'000},
        microseconds{300'000'000}};

    std::array<std::uint64_t, bounds.size() + 1> counts{};  ///< of each bucket; not cumulative
    microseconds sum{};

    std::uint64_t total() const noexcept
    {
        return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    }
};

namespace detail {

struct client_counters;

class duration_counts {
public:
    void add(std::chrono::microseconds) noexcept;
    duration_histogram read() const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, duration_histogram::bounds.size() + 1> counts_{};
    std::atomic<std::uint64_t> sum_{};
};

/// Counted of all names together, and of some apart.
struct name_counts {
    void add(client_event const&) noexcept;

    duration_counts waited{}, held{};
    std::atomic<std::uint64_t> waits{}, gave_up{}, cancelled{}, lost{};
};

}  // namespace detail

/// The numbers of a `metrics`. All except `clients` only grow.
struct metrics_snapshot {
    client_stats clients{};       ///< the sum over the watched clients
    duration_histogram waited{};  ///< from the call of an acquire to its hold or permits
    duration_histogram held{};    ///< from a hold to its release
    std::uint64_t attempts = 0;   ///< scripts sent for successful acquires
    std::uint64_t waits = 0;    ///< acquires whose first script found somebody else; then they wait
    std::uint64_t gave_up = 0;  ///< waits that ran out
    std::uint64_t cancelled = 0;        ///< acquires that their callers cancelled
    std::uint64_t renewals = 0;         ///< answered, each for one name
    std::uint64_t renewals_failed = 0;  ///< not answered, and tried again
    std::uint64_t lost = 0;             ///< holds that were lost, also if only the release found it
    std::uint64_t handed_over_here = 0;  ///< inside a client, without a command
    /// Acquired from the server by more than one script: the first found somebody else, was lost,
    /// or came while the server answered nobody (LOADING, BUSY).
    std::uint64_t handed_over_there = 0;
    std::uint64_t links_opened = 0;  ///< connections that came up, the first time or again
    std::uint64_t links_lost = 0;    ///< connections that ended
    std::uint64_t reconnects = 0;    ///< connections that came up again
    std::uint64_t subscriptions_refused = 0;
    std::uint64_t no_permits_set = 0;  ///< waits for a semaphore that does not exist

    std::uint64_t acquired() const noexcept { return waited.total(); }
    std::uint64_t released() const noexcept { return held.total(); }
};

/// The numbers of one name that a `metrics` counts apart. They only grow.
struct named_snapshot {
    std::string name{};           ///< as the observer is told it, with `config::key_prefix`
    duration_histogram waited{};  ///< from the call of an acquire to its hold or permits
    duration_histogram held{};    ///< from a hold to its release
    std::uint64_t waits = 0;      ///< acquires whose first script found somebody else
    std::uint64_t gave_up = 0;    ///< waits that ran out
    std::uint64_t cancelled = 0;  ///< acquires that their callers cancelled
    std::uint64_t lost = 0;       ///< holds that were lost, also if only the release found it
};

/// An observer that counts. `colock/metrics/prometheus.hpp` exports it to Prometheus, and
/// docs/metrics.md explains its numbers.
///
///     auto const counted = std::make_shared<colock::metrics>();
///     settings.observer = counted;
///     colock::client redis{executor, settings};
///     counted->watch(redis);
///
/// An event costs one or two relaxed atomic additions. A snapshot is not one moment: while a client
/// works, a hold may be counted in one number and not yet in another.
///
/// \par Thread-safety
///   Safe: several clients, on several threads, may share one, and `snapshot()` may be called from
///   any thread.
class metrics : public observer {
public:
    /// Passes each event on to `next`, once it is counted.
    explicit metrics(std::shared_ptr<observer> next = {});

    /// Also counts each of these names apart, for `by_name()`: the few locks that matter, as
    /// "nightly-job" or "leader". A name is what the observer is told, with `config::key_prefix`.
    /// An event costs a search among them.
    explicit metrics(std::vector<std::string> names, std::shared_ptr<observer> next = {});
    ~metrics() override;

    /// From now on `metrics_snapshot::clients` includes this client. The client may end before this
    /// object.
    void watch(client const&);

    metrics_snapshot snapshot() const;

    /// The names that are counted apart, in alphabetical order.
    std::vector<named_snapshot> by_name() const;

    void on_event(client_event const&) noexcept override;

private:
    using counter = std::atomic<std::uint64_t>;

    struct named;

    client_stats watched() const;
    named* find(std::string_view name) const noexcept;

    std::shared_ptr<observer> next_;
    detail::name_counts all_;
    std::vector<std::unique_ptr<named>> named_;  ///< by name; never changed
    counter attempts_{}, renewals_{}, renewals_failed_{};
    counter handed_over_here_{}, handed_over_there_{};
    counter links_opened_{}, links_lost_{}, reconnects_{}, subscriptions_refused_{};
    counter no_permits_set_{};
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<detail::client_counters const>> clients_;
};

}  // namespace v0_3
}  // namespace colock
