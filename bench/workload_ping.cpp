#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

namespace bench {

json::object run_pings(plan const& asked)
{
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        co_await redis.ping();
        meter spent{server};
        ledger done{asked};
        for (;;) {
            auto const start = steady::now();
            if (!done.goes_on(0, start))
                break;
            co_await redis.ping();
            auto const end = steady::now();
            done.note(0, start, end, end - start);
        }
        done.describe(out);
        spent.describe(out);
        put_costs(out, done.acquired_in_all());
    });
    return out;
}

}  // namespace bench
