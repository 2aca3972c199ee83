#include "client/client_access.hpp"
#include "client/stats.hpp"
#include "core/core.hpp"
#include <colock/metrics.hpp>

#include <algorithm>
#include <utility>

namespace colock {

namespace {

void add(std::atomic<std::uint64_t>& to, std::uint64_t n = 1) noexcept
{
    to.fetch_add(n, std::memory_order_relaxed);
}

std::uint64_t read(std::atomic<std::uint64_t> const& from) noexcept
{
    return from.load(std::memory_order_relaxed);
}

void add(client_stats& to, client_stats const& more) noexcept
{
    to.links_up += more.links_up;
    to.holds += more.holds;
    to.waiters += more.waiters;
    to.keys += more.keys;
    to.subscriptions += more.subscriptions;
    to.owed_releases += more.owed_releases;
    to.reconnects += more.reconnects;
    to.owed_copies += more.owed_copies;
}

}  // namespace

inline namespace v0_3 {
namespace detail {

void duration_counts::add(std::chrono::microseconds d) noexcept
{
    using std::chrono::microseconds;
    auto const& bounds = duration_histogram::bounds;
    auto const at = std::ranges::lower_bound(bounds, d) - bounds.begin();
    colock::add(counts_[static_cast<std::size_t>(at)]);
    colock::add(sum_, static_cast<std::uint64_t>(std::max(d, microseconds{0}).count()));
}

duration_histogram duration_counts::read() const noexcept
{
    duration_histogram out;
    std::ranges::transform(counts_, out.counts.begin(), [](auto const& c) {
        return colock::read(c);
    });
    out.sum = std::chrono::microseconds{static_cast<std::int64_t>(colock::read(sum_))};
    return out;
}

}  // namespace detail
}  // namespace v0_3

struct metrics::named {
    std::string name;
    detail::duration_counts waited{}, held{};
    counter waits{}, gave_up{}, cancelled{}, lost{};
};

metrics::metrics(std::shared_ptr<observer> next)
    : metrics{std::vector<std::string>{}, std::move(next)}
{}

metrics::metrics(std::vector<std::string> names, std::shared_ptr<observer> next)
    : next_{next ? std::move(next) : std::make_shared<detail::silent_observer>()}
{
    std::ranges::sort(names);
    auto const again = std::ranges::unique(names);
    names.erase(again.begin(), again.end());
    for (auto& each : names)
        named_.push_back(std::make_unique<named>(std::move(each)));
}

metrics::~metrics() = default;

void metrics::watch(client const& what)
{
    std::shared_ptr<detail::client_counters const> const counters =
        detail::client_access::inside(what)->counters;
    std::lock_guard const guard{mutex_};
    std::erase_if(clients_, [](auto const& each) { return each.expired(); });
    bool const is_new =
        std::ranges::none_of(clients_, [&](auto const& each) { return each.lock() == counters; });
    if (is_new)
        clients_.emplace_back(counters);
}

client_stats metrics::watched() const
{
    client_stats all;
    std::lock_guard const guard{mutex_};
    for (auto const& each : clients_)
        if (auto const counters = each.lock())
            add(all, stats_of(*counters));
    return all;
}

metrics_snapshot metrics::snapshot() const
{
    return {
        .clients = watched(),
        .waited = waited_.read(),
        .held = held_.read(),
        .attempts = read(attempts_),
        .waits = read(waits_),
        .gave_up = read(gave_up_),
        .cancelled = read(cancelled_),
        .renewals = read(renewals_),
        .renewals_failed = read(renewals_failed_),
        .lost = read(lost_),
        .handed_over_here = read(handed_over_here_),
        .handed_over_there = read(handed_over_there_),
        .links_opened = read(links_opened_),
        .links_lost = read(links_lost_),
        .reconnects = read(reconnects_),
        .subscriptions_refused = read(subscriptions_refused_),
        .no_permits_set = read(no_permits_set_)};
}

std::vector<named_snapshot> metrics::by_name() const
{
    std::vector<named_snapshot> all;
    all.reserve(named_.size());
    for (auto const& each : named_)
        all.push_back(
            {.name = each->name,
             .waited = each->waited.read(),
             .held = each->held.read(),
             .waits = read(each->waits),
             .gave_up = read(each->gave_up),
             .cancelled = read(each->cancelled),
             .lost = read(each->lost)}
        );
    return all;
}

metrics::named* metrics::find(std::string_view name) const noexcept
{
    auto const at = std::ranges::lower_bound(named_, name, {}, [](auto const& each) {
        return std::string_view{each->name};
    });
    return at != named_.end() && (*at)->name == name ? at->get() : nullptr;
}

// ---- Events ------------------------------------------------------------------------------------

void metrics::acquired(std::string_view name, microseconds waited, std::uint32_t attempts) noexcept
{
    waited_.add(waited);
    add(attempts_, attempts);
    if (attempts > 1)  // the server refused it before: somebody else had the lock
        add(handed_over_there_);
    if (auto* const apart = find(name))
        apart->waited.add(waited);
    next_->acquired(name, waited, attempts);
}

void metrics::waiting(std::string_view name, milliseconds lease) noexcept
{
    add(waits_);
    if (auto* const apart = find(name))
        add(apart->waits);
    next_->waiting(name, lease);
}

void metrics::no_permits_set(std::string_view name) noexcept
{
    add(no_permits_set_);
    next_->no_permits_set(name);
}

void metrics::gave_up(std::string_view name, microseconds waited, std::uint32_t attempts) noexcept
{
    add(gave_up_);
    if (auto* const apart = find(name))
        add(apart->gave_up);
    next_->gave_up(name, waited, attempts);
}

void metrics::cancelled(std::string_view name, microseconds waited, std::uint32_t attempts) noexcept
{
    add(cancelled_);
    if (auto* const apart = find(name))
        add(apart->cancelled);
    next_->cancelled(name, waited, attempts);
}

void metrics::renewed(std::string_view name, milliseconds valid_for) noexcept
{
    add(renewals_);
    next_->renewed(name, valid_for);
}

void metrics::renew_failed(std::string_view name, boost::system::error_code const& why) noexcept
{
    add(renewals_failed_);
    next_->renew_failed(name, why);
}

void metrics::lost(std::string_view name, boost::system::error_code const& why) noexcept
{
    add(lost_);
    if (auto* const apart = find(name))
        add(apart->lost);
    next_->lost(name, why);
}

void metrics::released(std::string_view name, microseconds held) noexcept
{
    held_.add(held);
    if (auto* const apart = find(name))
        apart->held.add(held);
    next_->released(name, held);
}

void metrics::found_lost(std::string_view name) noexcept
{
    add(lost_);
    if (auto* const apart = find(name))
        add(apart->lost);
    next_->found_lost(name);
}

void metrics::handed_over(std::string_view name) noexcept
{
    add(handed_over_here_);
    next_->handed_over(name);
}

void metrics::link_up(std::size_t link, std::uint64_t epoch) noexcept
{
    add(links_opened_);
    if (epoch > 1)
        add(reconnects_);
    next_->link_up(link, epoch);
}

void metrics::link_down(std::size_t link, boost::system::error_code const& why) noexcept
{
    add(links_lost_);
    next_->link_down(link, why);
}

void metrics::subscription_failed(
    std::string_view channel, boost::system::error_code const& why
) noexcept
{
    add(subscriptions_refused_);
    next_->subscription_failed(channel, why);
}

}  // namespace colock
