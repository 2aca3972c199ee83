// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "child.hpp"
#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <deque>
#include <stdexcept>

namespace bench {

namespace {

/// The time that clients have to stand in line before the lock is released the first time, and that
/// they have in all.
constexpr steady::duration to_line_up = std::chrono::seconds{2};
constexpr steady::duration to_get_all_in = std::chrono::seconds{300};

/// What the processes share.
struct line_up {
    std::atomic<int> connected{0};
    std::atomic<bool> open{false};
    std::atomic<int> inside{0};
    std::atomic<std::int64_t> overlaps{0};
    std::atomic<std::int64_t> last{0};  ///< ns of the steady clock, when somebody got in last
};

std::int64_t nanoseconds(steady::time_point at) { return at.time_since_epoch().count(); }

/// Takes what the variant names, and gives it back.
class lock_of_variant {
public:
    lock_of_variant(colock::client const& redis, plan const& asked)
        : kind_{asked.variant == "default" ? "lock" : asked.variant}
        , plain_{redis, asked.key}
        , fair_{redis, asked.key}
        , semaphore_{redis, asked.key}
        , permits_{redis, asked.key}
    {
        if (kind_ != "lock" && kind_ != "fair" && kind_ != "semaphore" && kind_ != "permit")
            throw std::runtime_error("W10 has the variants lock, fair, semaphore and permit");
    }

    asio::awaitable<void> prepare()
    {
        if (kind_ == "semaphore" || kind_ == "permit")
            co_await semaphore_.try_set_permits(1, asio::deferred);
    }

    asio::awaitable<void> acquire()
    {
        if (kind_ == "semaphore")
            co_await semaphore_.acquire(asio::deferred);
        else if (kind_ == "fair")
            held_ = co_await fair_.acquire(asio::deferred);
        else if (kind_ == "permit")
            permit_ = co_await permits_.acquire(asio::deferred);
        else
            held_ = co_await plain_.acquire(asio::deferred);
    }

    asio::awaitable<void> release()
    {
        if (kind_ == "semaphore")
            co_await semaphore_.release(asio::deferred);
        else if (kind_ == "permit")
            co_await permit_.release(asio::deferred);
        else
            co_await held_.release(asio::deferred);
    }

private:
    std::string kind_;
    colock::lock plain_;
    colock::fair_lock fair_;
    colock::semaphore semaphore_;
    colock::permit_semaphore permits_;
    colock::hold held_;
    colock::permit permit_;
};

/// One client with one waiter.
asio::awaitable<void> wait_once(
    colock::client* redis, plan const* asked, line_up* common, int* errors
)
{
    lock_of_variant mine{*redis, *asked};
    co_await redis->ping();
    ++common->connected;
    while (!common->open)
        co_await sleep_for(std::chrono::milliseconds{5});
    try {
        co_await mine.acquire();
        if (++common->inside != 1)
            ++common->overlaps;
        common->last = nanoseconds(steady::now());
        --common->inside;
        co_await mine.release();
    } catch (boost::system::system_error const&) {
        ++*errors;
    }
    redis->close(asio::detached);
}

/// A part of the clients, in one process.
json::object run_part(plan const& asked, int clients, line_up& common)
{
    asio::io_context context{1};
    std::deque<colock::client> all;
    int errors = 0;
    for (int i = 0; i != clients; ++i) {
        auto& one = all.emplace_back(context.get_executor(), asked.redis);
        one.run(asio::detached);
        asio::co_spawn(context, wait_once(&one, &asked, &common, &errors), asio::detached);
    }
    context.run();
    return {{"errors", errors}, {"cpu_s", cpu_seconds()}};
}

asio::awaitable<void> until_connected(line_up const* common, int clients)
{
    auto const limit = steady::now() + to_get_all_in;
    while (common->connected < clients && steady::now() < limit)
        co_await sleep_for(std::chrono::milliseconds{5});
    if (common->connected < clients)
        throw std::runtime_error("not all clients get a connection");
}

}  // namespace

json::object run_crowd(plan const& asked)
{
    shared<line_up> common;
    std::deque<child> parts;
    for (int i = 0; i != asked.processes; ++i) {
        int const clients =
            asked.workers * (i + 1) / asked.processes - asked.workers * i / asked.processes;
        parts.emplace_back([&, clients] { return run_part(asked, clients, *common); });
    }
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        lock_of_variant first{redis, asked};
        co_await first.prepare();
        co_await first.acquire();
        co_await until_connected(&*common, asked.workers);
        meter spent{server};
        common->open = true;
        co_await sleep_for(to_line_up);
        auto const begun = nanoseconds(steady::now());
        co_await first.release();
        std::int64_t errors = 0;
        double cpu = 0;
        for (auto& part : parts) {
            auto const got = part.result(steady::now() + to_get_all_in);
            errors += got.at("errors").as_int64();
            cpu += got.at("cpu_s").as_double();
        }
        spent.describe_server(out);
        out["acq_all"] = asked.workers - errors;
        out["errors"] = errors;
        out["overlaps"] = common->overlaps.load();
        out["mutex_ok"] = common->overlaps == 0;
        out["cpu_s"] = cpu;
        out["total_s"] = static_cast<double>(common->last - begun) * 1e-9;
        put_costs(out, asked.workers - errors, asked.workers);
    });
    return out;
}

}  // namespace bench
