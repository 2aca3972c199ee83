#include "client/client_access.hpp"
#include "client/stats.hpp"
#include "core/core.hpp"
#include <colock/metrics.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace colock {

namespace {

std::string_view name_of(client_event const& what) noexcept
{
    return std::visit(
        []<class Event>(Event const& e) -> std::string_view {
            if constexpr (requires { e.name; })
                return e.name;
            else
                return {};
        },
        what
    );
}

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

void name_counts::add(client_event const& what) noexcept
{
    std::visit(
        overloaded{
            [this](events::acquired const& e) { waited.add(e.waited); },
            [this](events::waiting const&) { colock::add(waits); },
            [this](events::gave_up const&) { colock::add(gave_up); },
            [this](events::cancelled const&) { colock::add(cancelled); },
            [this](events::released const& e) { held.add(e.held); },
            [this](events::lost const&) { colock::add(lost); },
            [this](events::found_lost const&) { colock::add(lost); },
            [](auto const&) {}},
        what
    );
}

}  // namespace detail
}  // namespace v0_3

struct metrics::named : detail::name_counts {
    explicit named(std::string of) : name{std::move(of)} {}

    std::string const name;
};

metrics::metrics(std::shared_ptr<observer> next)
    : metrics{std::vector<std::string>{}, std::move(next)}
{}

metrics::metrics(std::vector<std::string> names, std::shared_ptr<observer> next)
    : next_{std::move(next)}
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
        .waited = all_.waited.read(),
        .held = all_.held.read(),
        .attempts = read(attempts_),
        .waits = read(all_.waits),
        .gave_up = read(all_.gave_up),
        .cancelled = read(all_.cancelled),
        .renewals = read(renewals_),
        .renewals_failed = read(renewals_failed_),
        .lost = read(all_.lost),
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

void metrics::on_event(client_event const& what) noexcept
{
    all_.add(what);
    if (!named_.empty())
        if (auto* const apart = find(name_of(what)))
            apart->add(what);
    std::visit(
        overloaded{
            [this](events::acquired const& e) {
                add(attempts_, e.attempts);
                if (e.attempts > 1)  // the server refused it before: somebody else had the lock
                    add(handed_over_there_);
            },
            [this](events::no_permits_set const&) { add(no_permits_set_); },
            [this](events::renewed const&) { add(renewals_); },
            [this](events::renew_failed const&) { add(renewals_failed_); },
            [this](events::handed_over const&) { add(handed_over_here_); },
            [this](events::link_up const& e) {
                add(links_opened_);
                if (e.epoch > 1)
                    add(reconnects_);
            },
            [this](events::link_down const&) { add(links_lost_); },
            [this](events::subscription_failed const&) { add(subscriptions_refused_); },
            [](auto const&) {}},
        what
    );
    if (next_)
        next_->on_event(what);
}

}  // namespace colock
