// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/observer.hpp>
#include <colock/otel/database.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <opentelemetry/context/context.h>
#include <opentelemetry/metrics/meter.h>
#include <opentelemetry/metrics/provider.h>
#include <opentelemetry/metrics/sync_instruments.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/nostd/unique_ptr.h>
#include <string>
#include <utility>
#include <variant>

namespace colock {
inline namespace v0_3 {
namespace otel {

/// An observer that measures for OpenTelemetry. Link `colock::otel`; docs/metrics.md has its
/// metrics.
///
///     settings.observer = std::make_shared<colock::otel::meter>(settings);
///     colock::client redis{executor, settings};
///
/// The durations are in seconds, and the default buckets of opentelemetry-cpp are for milliseconds:
/// add a view with others to your provider.
///
/// \par Thread-safety
///   Safe: clients with the same settings, on several threads, may share one.
class meter final : public observer {
    using meter_type = opentelemetry::nostd::shared_ptr<opentelemetry::metrics::Meter>;

public:
    /// `settings` are those of the client. The metrics go to the meter `colock` of the global
    /// provider, as it is now. Passes each event on to `next`, once it is counted.
    explicit meter(config const& settings, std::shared_ptr<observer> next = {})
        : meter{
              settings,
              opentelemetry::metrics::Provider::GetMeterProvider()->GetMeter("colock"),
              std::move(next)}
    {}

    /// The metrics go to this meter.
    meter(config const& settings, meter_type const& to, std::shared_ptr<observer> next = {})
        : server_{settings}
        , links_{settings.client_name}
        , next_{std::move(next)}
        , operation_{to->CreateDoubleHistogram(
              "db.client.operation.duration", "From the call of an acquire to its end.", "s"
          )}
        , held_{to->CreateDoubleHistogram(
              "colock.hold.duration", "From a hold to its release.", "s"
          )}
        , attempts_{to->CreateUInt64Counter(
              "colock.acquire.attempts", "Scripts sent for the acquires that ended.", "{script}"
          )}
        , lost_{to->CreateUInt64Counter(
              "colock.hold.lost",
              "Holds that were lost, also if only the release found it.",
              "{hold}"
          )}
        , renewals_{to->CreateUInt64Counter(
              "colock.renewals", "Renewals of a lease; one that failed is tried again.", "{renewal}"
          )}
        , connections_{to->CreateInt64UpDownCounter(
              "db.client.connection.count", "Connections that are up.", "{connection}"
          )}
    {}

    void on_event(client_event const& what) noexcept override
    {
        try {
            measure(what);
        } catch (std::bad_alloc const&) {
            // This event is not measured, which must not end a lock.
        }
        if (next_)
            next_->on_event(what);
    }

private:
    void measure(client_event const& what)
    {
        std::visit(
            overloaded{
                [this](events::acquired const& e) { acquire("acquired", e); },
                [this](events::gave_up const& e) { acquire("gave_up", e); },
                [this](events::cancelled const& e) { acquire("cancelled", e); },
                [this](events::released const& e) {
                    held_->Record(seconds(e.held), opentelemetry::context::Context{});
                },
                [this](events::lost const& e) { count(*lost_, e.why); },
                [this](events::found_lost const&) { count(*lost_, error::lost); },
                [this](events::renewed const&) { renewals_->Add(1); },
                [this](events::renew_failed const& e) { count(*renewals_, e.why); },
                [this](events::link_up const&) { connections(1); },
                [this](events::link_down const&) { connections(-1); },
                [](auto const&) {}},
            what
        );
    }

    using counter = opentelemetry::metrics::Counter<std::uint64_t>;
    using histogram = opentelemetry::metrics::Histogram<double>;

    static double seconds(std::chrono::microseconds d)
    {
        return std::chrono::duration<double>(d).count();
    }

    template <class Event>
    void acquire(char const* outcome, Event const& e)
    {
        auto about = server_.about("acquire");
        about.emplace_back("colock.outcome", outcome);
        operation_->Record(seconds(e.waited), about, opentelemetry::context::Context{});
        attempts_->Add(e.attempts);
    }

    static void count(counter& of, error_code why)
    {
        auto const type = detail::error_type(why);
        of.Add(1, {{"error.type", detail::view(type)}});
    }

    // A link serves all calls at once, so none is ever idle.
    void connections(std::int64_t n)
    {
        connections_->Add(
            n,
            {{"db.client.connection.pool.name", detail::view(links_)},
             {"db.client.connection.state", "used"}}
        );
    }

    detail::database const server_;
    std::string const links_;
    std::shared_ptr<observer> next_;
    opentelemetry::nostd::unique_ptr<histogram> operation_, held_;
    opentelemetry::nostd::unique_ptr<counter> attempts_, lost_, renewals_;
    opentelemetry::nostd::unique_ptr<opentelemetry::metrics::UpDownCounter<std::int64_t>>
        connections_;
};

}  // namespace otel
}  // namespace v0_3
}  // namespace colock
