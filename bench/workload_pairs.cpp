#include "meter.hpp"
#include "pairs.hpp"
#include "renewal_counter.hpp"
#include "workloads.hpp"

#include <memory>
#include <vector>

namespace bench {

namespace {

/// A quantile of the time without renewals, and how that with them compares.
void put_ratio(json::object& into, std::string const& name, double base, double now)
{
    into["base_" + name + "_us"] = base;
    into[name + "_ratio"] = base > 0 ? now / base : 0;
}

}  // namespace

json::object run_pairs(plan const& asked)
{
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        auto burst = co_await ping_burst(&redis);
        out["ping_burst_p50_us"] = burst.microseconds(0.5);

        meter spent{server};
        pairs run{redis, asked};
        co_await run.run();
        run.describe(out);
        auto const pings = static_cast<std::int64_t>(run.pings().size());
        spent.describe(out);
        put_costs(out, run.done().acquired_in_all(), pings);
        out["ping_p50_us"] = (pings ? run.pings() : burst).microseconds(0.5);
    });
    return out;
}

json::object run_beside_renewals(plan const& asked)
{
    json::object out;
    auto const count = std::make_shared<renewal_counter>();
    auto settings = asked.redis;
    settings.observer = count;
    with_client(settings, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        pairs before{redis, asked};
        co_await before.run();

        std::vector<colock::hold> held(static_cast<std::size_t>(asked.locks));
        auto const refused = co_await hold_many(&redis, asked.key + ":held", 256, &held);
        meter spent{server};
        auto const renewed = count->renewals();
        pairs beside{redis, asked};
        co_await beside.run();

        beside.describe(out);
        auto const pings = static_cast<std::int64_t>(beside.pings().size());
        spent.describe(out);
        put_costs(out, beside.done().acquired_in_all(), pings);
        out["locks"] = asked.locks;
        out["errors"] = out["errors"].as_int64() + refused;
        out["renewals"] = count->renewals() - renewed;
        out["lost"] = count->lost();
        out["ping_p50_us"] = beside.pings().microseconds(0.5);
        auto& without = before.done().latencies();
        auto& with = beside.done().latencies();
        put_ratio(out, "p50", without.microseconds(0.5), with.microseconds(0.5));
        put_ratio(out, "p99", without.microseconds(0.99), with.microseconds(0.99));
        put_ratio(out, "max", without.microseconds(1.0), with.microseconds(1.0));
    });
    return out;
}

}  // namespace bench
