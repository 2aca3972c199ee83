#include "child.hpp"
#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>

namespace bench {

namespace {

struct talk {
    std::atomic<bool> held{false};
    std::atomic<bool> enough{false};
};

/// The other process.
json::object hold_until_told(plan const& asked, talk& with)
{
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        std::vector<colock::hold> held(static_cast<std::size_t>(asked.locks));
        if (co_await hold_many(&redis, asked.key, 256, &held) != 0)
            throw std::runtime_error("can't hold all keys");
        with.held = true;
        while (!with.enough)
            co_await sleep_for(seconds(0.01));
    });
    return {};
}

/// Plain callbacks: a waiter is then little more than what the library keeps for it.
void wait_for_each(colock::client const& redis, plan const& asked, std::int64_t& answered)
{
    for (int i = 0; i != asked.locks; ++i) {
        colock::lock const lock{redis, asked.key + ":" + std::to_string(i)};
        for (int j = 0; j != asked.workers; ++j)
            lock.acquire([&](colock::error_code, colock::hold const&) { ++answered; });
    }
}

asio::awaitable<void> until_all_wait(colock::client const* redis, plan const* asked)
{
    auto const all = static_cast<std::size_t>(asked->locks);
    auto const patience = steady::now() + seconds(120);
    while (redis->stats().waiters != all * asked->workers) {
        if (steady::now() > patience)
            throw std::runtime_error("the waiters don't come to rest");
        co_await sleep_for(seconds(0.01));
    }
    co_await sleep_for(asked->redis.poll_cap + seconds(0.2));
}

/// The first attempt of a key takes a place in its wait list.
asio::awaitable<void> until_all_stand(server_info* server)
{
    auto const attempts = [server] { return server->usage().calls["zadd"]; };
    auto const patience = steady::now() + seconds(120);
    for (auto before = attempts();;) {
        co_await sleep_for(seconds(1));
        auto const now = attempts();
        if (now == before)
            co_return;
        if (steady::now() > patience)
            throw std::runtime_error("the waiters go on joining their lists");
        before = now;
    }
}

}  // namespace

json::object run_keys(plan const& asked)
{
    shared<talk> with;
    child holder{[&] { return hold_until_told(asked, *with); }};
    json::object out;
    std::int64_t answered = 0;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        co_await redis.ping();
        auto const patience = steady::now() + seconds(120);
        while (!with->held) {
            if (steady::now() > patience)
                throw std::runtime_error("the other process doesn't get its keys");
            co_await sleep_for(seconds(0.01));
        }
        co_await sleep_for(seconds(0.5));
        double const base = resident_bytes();
        json::object idle;
        meter alone{server};
        co_await sleep_for(seconds(std::min(asked.seconds, 2.0)));
        alone.describe(idle);

        auto const begun = steady::now();
        wait_for_each(redis, asked, answered);
        co_await until_all_wait(&redis, &asked);
        co_await until_all_stand(&server);
        out["locks"] = asked.locks;
        out["waiters"] = std::int64_t{asked.locks} * asked.workers;
        out["settled_s"] = seconds(steady::now() - begun);
        double const waiting = resident_bytes();
        auto const before = answered;
        meter spent{server};
        co_await sleep_for(seconds(asked.seconds));
        spent.describe(out);
        out["errors"] = answered - before;
        out["base_cpu_share"] = idle["cpu_share"];
        out["base_server_cpu_share"] = idle["server_cpu_share"];
        out["rss_base_mb"] = megabytes(base);
        out["rss_held_mb"] = megabytes(waiting);
        out["bytes_per_waiter"] = (waiting - base) / out["waiters"].to_number<double>();
        out["subscriptions"] = redis.stats().subscriptions;
    });
    with->enough = true;
    holder.result(steady::now() + seconds(60));
    return out;
}

}  // namespace bench
