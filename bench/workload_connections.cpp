#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <deque>

namespace bench {

namespace {

double connected(server_info& server) { return server.number("clients", "connected_clients"); }

asio::awaitable<void> take_and_release(colock::client const* redis, std::string key)
{
    colock::lock const lock{*redis, std::move(key)};
    auto held = co_await lock.acquire();
    co_await held.release();
}

}  // namespace

json::object run_connections(plan const& asked)
{
    json::object out;
    // What a process needs once is there before the base is taken. From then on each connection
    // comes with a client of its own, because a client at rest has one.
    with_client(asked.redis, [&](colock::client& first) -> asio::awaitable<void> {
        server_info server{asked};
        for (int i = 0; i != 200; ++i)
            co_await take_and_release(&first, asked.key + ":first");
        auto const executor = co_await asio::this_coro::executor;
        double const base = resident_bytes();
        double const connected_before = connected(server);
        std::deque<colock::client> clients;
        for (int i = 0; i < asked.locks; ++i) {
            auto& added = clients.emplace_back(executor, asked.redis);
            added.run(asio::detached);
            co_await take_and_release(&added, asked.key + ":" + std::to_string(i));
        }
        co_await sleep_for(seconds(5.0));  // until all are idle
        double const connections = connected(server) - connected_before;
        double const now = resident_bytes();
        out["connections"] = connections;
        out["rss_base_mb"] = megabytes(base);
        out["rss_end_mb"] = megabytes(now);
        out["bytes_per_connection"] = (now - base) / connections;
        out["errors"] = 0;
        for (auto& client : clients)
            co_await client.close();
    });
    return out;
}

}  // namespace bench
