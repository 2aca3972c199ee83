// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What `colock::otel::meter` measures, read from a provider.
#include <colock/colock.hpp>
#include <colock/otel.hpp>
#include <colock/testing/scripted_client.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <opentelemetry/sdk/metrics/aggregation/aggregation_config.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/metrics/meter_provider_factory.h>
#include <opentelemetry/sdk/metrics/metric_reader.h>
#include <opentelemetry/sdk/metrics/view/instrument_selector_factory.h>
#include <opentelemetry/sdk/metrics/view/meter_selector_factory.h>
#include <opentelemetry/sdk/metrics/view/view_factory.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace colock::test {

namespace {

namespace asio = boost::asio;
namespace sdk = opentelemetry::sdk::metrics;
using namespace std::chrono_literals;

// [seconds
/// Buckets for durations in seconds, of all histograms of colock.
void add_buckets(sdk::MeterProvider& to)
{
    auto const buckets = std::make_shared<sdk::HistogramAggregationConfig>();
    buckets->boundaries_ = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10};
    to.AddView(
        sdk::InstrumentSelectorFactory::Create(sdk::InstrumentType::kHistogram, "*", "s"),
        sdk::MeterSelectorFactory::Create("colock", "", ""),
        sdk::ViewFactory::Create("", "", "s", sdk::AggregationType::kHistogram, buckets)
    );
}
// seconds]

/// Reads when it is asked.
class reader final : public sdk::MetricReader {
public:
    sdk::AggregationTemporality GetAggregationTemporality(sdk::InstrumentType
    ) const noexcept override
    {
        return sdk::AggregationTemporality::kCumulative;
    }

private:
    bool OnForceFlush(std::chrono::microseconds) noexcept override { return true; }
    bool OnShutDown(std::chrono::microseconds) noexcept override { return true; }
};

struct point {
    std::string metric, unit;
    sdk::PointAttributes attributes;
    sdk::PointType value;
};

/// Counts what it is told.
struct listener final : observer {
    void on_event(client_event const&) noexcept override { ++events; }
    int events = 0;
};

struct measured {
    static std::unique_ptr<sdk::MeterProvider> read_by(std::shared_ptr<sdk::MetricReader> const& by)
    {
        auto made = sdk::MeterProviderFactory::Create();
        add_buckets(*made);
        made->AddMetricReader(by);
        return made;
    }

    config settings()
    {
        auto made = testing::scripted_client::quiet();
        made.addresses = {{"redis.internal", 6380}};
        made.client_name = "shop";
        made.observer = std::make_shared<otel::meter>(made, provider->GetMeter("colock"), next);
        return made;
    }

    std::vector<point> points()
    {
        std::vector<point> all;
        read->Collect([&](sdk::ResourceMetrics& got) {
            for (auto const& scope : got.scope_metric_data_)
                for (auto const& metric : scope.metric_data_)
                    for (auto const& each : metric.point_data_attr_)
                        all.push_back(
                            {metric.instrument_descriptor.name_,
                             metric.instrument_descriptor.unit_,
                             each.attributes,
                             each.point_data}
                        );
            return true;
        });
        return all;
    }

    /// The point of the metric that has this attribute, or any.
    point of(std::string const& metric, std::string const& name = "", std::string const& value = "")
    {
        for (auto const& each : points()) {
            if (each.metric != metric)
                continue;
            auto const at = each.attributes.find(name);
            if (name.empty() ||
                (at != each.attributes.end() &&
                 opentelemetry::nostd::get<std::string>(at->second) == value))
                return each;
        }
        BOOST_TEST_REQUIRE(false, metric << ' ' << name << ' ' << value << " is not there");
        return {};
    }

    std::int64_t sum(
        std::string const& metric, std::string const& name = "", std::string const& value = ""
    )
    {
        using opentelemetry::nostd::get;
        return get<std::int64_t>(get<sdk::SumPointData>(of(metric, name, value).value).value_);
    }

    static sdk::HistogramPointData const& histogram(point const& of)
    {
        return opentelemetry::nostd::get<sdk::HistogramPointData>(of.value);
    }
    static double seconds(point const& of)
    {
        return opentelemetry::nostd::get<double>(histogram(of).sum_);
    }

    std::shared_ptr<listener> next = std::make_shared<listener>();
    std::shared_ptr<sdk::MetricReader> read = std::make_shared<reader>();
    std::unique_ptr<sdk::MeterProvider> provider = read_by(read);
    testing::scripted_client redis{settings()};
};

BOOST_FIXTURE_TEST_SUITE(otel_measures, measured)

BOOST_AUTO_TEST_CASE(an_acquire_is_an_operation_of_a_database)
{
    redis.occupy("k", 400ms);
    redis.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{redis, "k"}.acquire();
        redis.freeze(2s);
        co_await held.release();
    }());
    auto const acquire = of("db.client.operation.duration", "colock.outcome", "acquired");
    BOOST_TEST(acquire.unit == "s");
    BOOST_TEST(histogram(acquire).count_ == 1U);
    BOOST_TEST(seconds(acquire) >= 0.3);
    BOOST_TEST(seconds(acquire) < 1);
    BOOST_TEST(histogram(acquire).boundaries_.size() == 9U);
    using opentelemetry::nostd::get;
    auto const& about = acquire.attributes;
    BOOST_TEST(about.size() == 6U);
    BOOST_TEST(get<std::string>(about.at("db.system.name")) == "redis");
    BOOST_TEST(get<std::string>(about.at("db.operation.name")) == "acquire");
    BOOST_TEST(get<std::string>(about.at("db.namespace")) == "0");
    BOOST_TEST(get<std::string>(about.at("server.address")) == "redis.internal");
    BOOST_TEST(get<std::int32_t>(about.at("server.port")) == 6380);

    auto const held = of("colock.hold.duration");
    BOOST_TEST(histogram(held).count_ == 1U);
    BOOST_TEST(seconds(held) >= 2.0);
    BOOST_TEST(seconds(held) < 3.0);
    BOOST_TEST(sum("colock.acquire.attempts") >= 2);
    BOOST_TEST(next->events > 2);
}

BOOST_AUTO_TEST_CASE(waits_without_success)
{
    redis.occupy("k");
    redis.run([&]() -> asio::awaitable<void> {
        auto const none = co_await lock{redis, "k"}.try_acquire_for(1s);
        BOOST_TEST(!none);
    }());
    asio::cancellation_signal cancel;
    bool is_over = false;
    lock{redis, "k"}.acquire(asio::bind_cancellation_slot(
        cancel.slot(), [&](error_code, hold const&) { is_over = true; }
    ));
    redis.run_until([&] { return redis.waiters() == 1; });
    cancel.emit(asio::cancellation_type::terminal);
    redis.run_until([&] { return is_over; });
    auto const gave_up = of("db.client.operation.duration", "colock.outcome", "gave_up");
    BOOST_TEST(histogram(gave_up).count_ == 1U);
    BOOST_TEST(seconds(gave_up) >= 1.0);
    auto const cancelled = of("db.client.operation.duration", "colock.outcome", "cancelled");
    BOOST_TEST(histogram(cancelled).count_ == 1U);
}

BOOST_AUTO_TEST_CASE(losses_and_renewals)
{
    redis.run([&]() -> asio::awaitable<void> {
        hold held = co_await lock{redis, "k"}.acquire({.lease = 10s, .renew = true});
        redis.lose("k");
        co_await held.lost();
        // One that only the release finds.
        hold other = co_await lock{redis, "other"}.acquire({.lease = 10s});
        redis.lose("other");
        auto const [ec] = co_await other.release(asio::as_tuple(asio::deferred));
        BOOST_TEST((ec == error::lost));
    }());
    BOOST_TEST(sum("colock.hold.lost", "error.type", "lost") == 2);
}

BOOST_AUTO_TEST_CASE(renewals)
{
    hold held;
    redis.run([&]() -> asio::awaitable<void> {
        held = co_await lock{redis, "k"}.acquire({.lease = 3s, .renew = true});
    }());
    redis.run_for(10s);
    BOOST_TEST(sum("colock.renewals") >= 3);  // without them it would be lost
    redis.let_leases_run_out();
    redis.run_until([&] { return !held; });
    redis.run_for(1ms);
    BOOST_TEST(sum("colock.hold.lost") == 1);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_fails)
{
    otel::meter nobody_behind{config{}, provider->GetMeter("colock")};
    nobody_behind.on_event(events::renew_failed{.name = "k", .why = error::unavailable});
    BOOST_TEST(sum("colock.renewals", "error.type", "unavailable") == 1);
}

BOOST_AUTO_TEST_CASE(connections)
{
    redis.run_for(1ms);
    auto const up = sum("db.client.connection.count", "db.client.connection.pool.name", "shop");
    BOOST_TEST(up > 0);
    redis.disconnect();
    redis.run_for(1ms);
    BOOST_TEST(sum("db.client.connection.count", "db.client.connection.state", "used") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
