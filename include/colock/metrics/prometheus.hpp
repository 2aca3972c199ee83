// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/metrics.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {

/// Exports the numbers of a `metrics` to Prometheus. Link `colock::prometheus`.
///
/// Give it to a `prometheus::Exposer`, or write what `Collect()` returns with a
/// `prometheus::TextSerializer`. Each series has the label `client`. Lock names are not a label,
/// because there may be as many as orders or users, and each would be a series for ever. Only the
/// names that `metrics` counts apart have series of their own, `colock_named_...`, with the label
/// `name`.
///
/// \par Thread-safety
///   Safe: it is immutable and reads atomics.
class prometheus_collector final : public prometheus::Collectable {
public:
    /// `client` distinguishes this client from others of the process; any text.
    prometheus_collector(std::string client, std::shared_ptr<metrics const> from)
        : client_{std::move(client)}
        , from_{std::move(from)}
    {}

    std::vector<prometheus::MetricFamily> Collect() const override
    {
        auto const now = from_->snapshot();
        families_type to;
        add_gauges(to, now.clients);
        add_acquires(to, now);
        add_holds(to, now);
        add_connections(to, now);
        add_names(to, from_->by_name());
        return to;
    }

private:
    using families_type = std::vector<prometheus::MetricFamily>;
    using metric = prometheus::ClientMetric;
    using type = prometheus::MetricType;

    void add_gauges(families_type& to, client_stats const& now) const
    {
        gauge(to, "holds", "Holds that are neither released nor lost.", now.holds);
        gauge(to, "waiters", "Acquires that wait.", now.waiters);
        gauge(to, "names", "Names with a hold, a waiter or a release that is under way.", now.keys);
        gauge(
            to,
            "owed_releases",
            "Releases that the server has not yet confirmed.",
            now.owed_releases
        );
        gauge(
            to,
            "owed_copies",
            "Releases that the server has confirmed, and that replicas or disk may not have yet.",
            now.owed_copies
        );
        gauge(to, "subscriptions", "Channels that are subscribed.", now.subscriptions);
        gauge(to, "links_up", "Connections that are up, those for pub/sub included.", now.links_up);
    }

    void add_acquires(families_type& to, metrics_snapshot const& now) const
    {
        histogram(
            to,
            "acquire_wait_seconds",
            "Time from the call of an acquire until it had what it asked for.",
            now.waited
        );
        counter(
            to,
            "acquire_attempts_total",
            "Scripts that were sent for those acquires that succeeded.",
            now.attempts
        );
        counter(
            to,
            "waits_total",
            "Acquires that the server refused, and that began to wait.",
            now.waits
        );
        counter(
            to,
            "no_permits_set_total",
            "Waits for permits of a semaphore that does not exist.",
            now.no_permits_set
        );
        counter(to, "gave_up_total", "Waits that ran out.", now.gave_up);
        counter(to, "cancelled_total", "Acquires that their callers cancelled.", now.cancelled);
        auto& passed = family(
            to,
            type::Counter,
            "handovers_total",
            "Locks that passed to a waiter, within the process or through the server."
        );
        passed.metric.push_back(counted(now.handed_over_here, {{"via", "process"}}));
        passed.metric.push_back(counted(now.handed_over_there, {{"via", "server"}}));
    }

    void add_holds(families_type& to, metrics_snapshot const& now) const
    {
        histogram(
            to,
            "hold_seconds",
            "Time from a hold to its release, without holds that were lost before.",
            now.held
        );
        counter(to, "renewals_total", "Renewals of a lease that were answered.", now.renewals);
        counter(
            to,
            "renewal_failures_total",
            "Renewals of a lease that were not answered, each of which is tried again.",
            now.renewals_failed
        );
        counter(
            to, "lost_total", "Holds that were lost, also if only their release found it.", now.lost
        );
    }

    void add_connections(families_type& to, metrics_snapshot const& now) const
    {
        counter(
            to,
            "links_opened_total",
            "Connections that came up, the first time or again.",
            now.links_opened
        );
        counter(
            to,
            "links_lost_total",
            "Connections that were lost, or dropped because nothing needed them.",
            now.links_lost
        );
        counter(to, "reconnects_total", "Connections that came up again.", now.reconnects);
        counter(
            to,
            "subscriptions_refused_total",
            "Subscriptions that the server refused; waiters then get no messages and only poll.",
            now.subscriptions_refused
        );
    }

    void add_names(families_type& to, std::vector<named_snapshot> const& all) const
    {
        if (all.empty())
            return;
        auto const add = [&](type what, std::string const& name, std::string help, auto const& of) {
            auto& made = family(to, what, "named_" + name, std::move(help)).metric;
            for (auto const& each : all)
                made.push_back(of(each, std::vector<metric::Label>{{"name", each.name}}));
        };
        auto const count = [&](std::string const& name, std::string const& help, auto member) {
            add(type::Counter, name, help, [&](auto const& n, auto label) {
                return counted(n.*member, std::move(label));
            });
        };
        add(type::Histogram,
            "acquire_wait_seconds",
            "As acquire_wait_seconds, of one name.",
            [&](auto const& n, auto label) { return measured(n.waited, std::move(label)); });
        add(type::Histogram,
            "hold_seconds",
            "As hold_seconds, of one name.",
            [&](auto const& n, auto label) { return measured(n.held, std::move(label)); });
        count("waits_total", "As waits_total, of one name.", &named_snapshot::waits);
        count("gave_up_total", "As gave_up_total, of one name.", &named_snapshot::gave_up);
        count("cancelled_total", "As cancelled_total, of one name.", &named_snapshot::cancelled);
        count("lost_total", "As lost_total, of one name.", &named_snapshot::lost);
    }

    static prometheus::MetricFamily& family(
        families_type& to, type what, std::string const& name, std::string help
    )
    {
        return to.emplace_back(prometheus::MetricFamily{"colock_" + name, std::move(help), what, {}}
        );
    }

    void gauge(families_type& to, std::string const& name, std::string help, std::size_t value)
        const
    {
        auto made = labelled({});
        made.gauge.value = static_cast<double>(value);
        family(to, type::Gauge, name, std::move(help)).metric.push_back(std::move(made));
    }

    void counter(families_type& to, std::string const& name, std::string help, std::uint64_t value)
        const
    {
        family(to, type::Counter, name, std::move(help)).metric.push_back(counted(value, {}));
    }

    void histogram(
        families_type& to, std::string const& name, std::string help, duration_histogram const& of
    ) const
    {
        family(to, type::Histogram, name, std::move(help)).metric.push_back(measured(of, {}));
    }

    metric measured(duration_histogram const& of, std::vector<metric::Label> more) const
    {
        auto made = labelled(std::move(more));
        std::uint64_t up_to_here = 0;
        for (std::size_t i = 0; i != duration_histogram::bounds.size(); ++i) {
            up_to_here += of.counts[i];
            made.histogram.bucket.push_back({up_to_here, seconds(duration_histogram::bounds[i])});
        }
        made.histogram.sample_count = up_to_here + of.counts.back();
        made.histogram.sample_sum = seconds(of.sum);
        return made;
    }

    metric counted(std::uint64_t value, std::vector<metric::Label> more) const
    {
        auto made = labelled(std::move(more));
        made.counter.value = static_cast<double>(value);
        return made;
    }

    metric labelled(std::vector<metric::Label> more) const
    {
        metric made;
        made.label = std::move(more);
        made.label.insert(made.label.begin(), {"client", client_});
        return made;
    }

    static double seconds(std::chrono::microseconds d)
    {
        return std::chrono::duration<double>(d).count();
    }

    std::string client_;
    std::shared_ptr<metrics const> from_;
};

}  // namespace v0_3
}  // namespace colock
