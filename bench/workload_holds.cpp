#include "meter.hpp"
#include "renewal_counter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace bench {

namespace {

/// For a runner that looks at both processes at the same moment.
void call_out(char const* word)
{
    std::fprintf(stderr, "%s\n", word);
    std::fflush(stderr);
}

}  // namespace

json::object run_holds(plan const& asked)
{
    json::object out;
    auto const count = std::make_shared<renewal_counter>();
    auto settings = asked.redis;
    settings.observer = count;
    with_client(settings, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        // The places are the user's memory, not the library's, and there before the base is taken.
        std::vector<colock::hold> held(static_cast<std::size_t>(asked.locks));
        co_await redis.ping();
        double const base = resident_bytes();
        json::object idle;
        meter alone{server};
        co_await sleep_for(seconds(1.0));
        alone.describe(idle);
        out["base_cpu_share"] = idle["cpu_share"];
        out["base_server_cpu_share"] = idle["server_cpu_share"];

        auto const begun = steady::now();
        auto const errors = co_await hold_many(&redis, asked.key, asked.workers, &held);
        out["locks"] = asked.locks;
        out["acquire_s"] = seconds(steady::now() - begun);
        out["errors"] = errors;

        call_out("HELD");
        double const holding = resident_bytes();
        auto const renewed = count->renewals();
        meter spent{server};
        auto const idle_begun = steady::now();
        co_await sleep_for(seconds(asked.seconds));
        spent.describe(out);
        out["idle_cpu_s"] = out["cpu_s"];
        out["idle_s"] = seconds(steady::now() - idle_begun);
        call_out("END");

        out["renewals"] = count->renewals() - renewed;
        out["lost"] = std::ranges::count_if(held, [](auto const& hold) { return !hold; });
        out["rss_base_mb"] = megabytes(base);
        out["rss_held_mb"] = megabytes(holding);
        out["rss_end_mb"] = megabytes(resident_bytes());
        out["bytes_per_hold"] = (holding - base) / asked.locks;
        co_await sleep_for(seconds(0.5));  // while the runner looks
    });
    return out;
}

}  // namespace bench
