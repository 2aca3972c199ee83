#include "child.hpp"
#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

constexpr double zipf_exponent = 0.99;
constexpr std::size_t most_keys = 4096;
constexpr steady::duration all_come_up = std::chrono::milliseconds{1500};

/// Who is inside of each key, in all processes.
struct places {
    std::array<std::atomic<int>, most_keys> inside{};
};

/// Numbers from 0, of which few come often: the k-th as often as 1/k^s says.
class zipf {
public:
    explicit zipf(int count)
    {
        double sum = 0;
        for (int k = 1; k <= count; ++k)
            up_to_.push_back(sum += std::pow(k, -zipf_exponent));
    }

    template <class Random>
    int draw(Random& from) const
    {
        std::uniform_real_distribution<> all{0, up_to_.back()};
        auto const at = std::ranges::lower_bound(up_to_, all(from));
        return static_cast<int>(std::min(at, up_to_.end() - 1) - up_to_.begin());
    }

private:
    std::vector<double> up_to_;
};

/// The workers of one process. Each draws its keys by a seed of its own, the same in every run.
class mixers {
public:
    mixers(colock::client const& redis, plan const& asked, window when, places& all, int process)
        : redis_{redis}
        , asked_{asked}
        , done_{asked.workers, when}
        , keys_{asked.locks}
        , places_{all}
        , process_{process}
    {}

    asio::awaitable<void> run()
    {
        crew workers{co_await asio::this_coro::executor};
        for (int i = 0; i != asked_.workers; ++i)
            workers.add(work(i));
        co_await workers.join();
    }

    ledger& done() noexcept { return done_; }

private:
    asio::awaitable<void> work(int id)
    {
        std::mt19937_64 dice(static_cast<std::uint64_t>(process_ * asked_.workers + id));
        for (;;) {
            auto const number = keys_.draw(dice);
            auto const start = steady::now();
            if (start > done_.when().end)
                co_return;
            colock::lock const lock{redis_, asked_.key + ":" + std::to_string(number)};
            auto [refused, held] = co_await lock.acquire(asio::as_tuple(asio::deferred));
            auto const got = steady::now();
            if (refused) {
                done_.note_error();
                continue;
            }
            auto& inside = places_.inside[static_cast<std::size_t>(number)];
            if (++inside != 1)
                done_.note_overlap();
            co_await sleep_for(asked_.hold);
            --inside;
            auto [failed] = co_await held.release(asio::as_tuple(asio::deferred));
            if (failed)
                done_.note_error();
            done_.note(id, start, steady::now(), got - start);
        }
    }

    colock::client const& redis_;
    plan const& asked_;
    ledger done_;
    zipf keys_;
    places& places_;
    int process_;
};

json::object run_part(plan const& asked, window when, places& all, int process)
{
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        mixers run{redis, asked, when, all, process};
        auto const cpu = cpu_seconds();
        co_await run.run();
        run.done().describe(out);
        out["cpu_s"] = cpu_seconds() - cpu;
    });
    return out;
}

/// As for the peers: sums, and of the times those of the process where they are the worst.
void put_together(json::object& into, json::object const& one)
{
    for (auto const* name : {"acq", "acq_all", "errors", "overlaps", "rate", "cpu_s"}) {
        auto& sum = into[name];
        if (one.at(name).is_double())
            sum = (sum.is_null() ? 0 : sum.as_double()) + one.at(name).as_double();
        else
            sum = (sum.is_null() ? 0 : sum.as_int64()) + one.at(name).to_number<std::int64_t>();
    }
    for (auto const* name : {"p50_us", "p99_us", "max_us"}) {
        auto const before = into[name].is_null() ? 0 : into[name].as_double();
        into[name] = std::max(before, one.at(name).to_number<double>());
    }
}

}  // namespace

json::object run_mix(plan const& asked)
{
    if (static_cast<std::size_t>(asked.locks) > most_keys)
        throw std::runtime_error("W11 has at most 4096 keys");
    shared<places> all;
    auto when = window_of(asked);
    when.begin += all_come_up;
    when.end += all_come_up;
    std::deque<child> parts;
    for (int i = 0; i != asked.processes; ++i)
        parts.emplace_back([&, i] { return run_part(asked, when, *all, i); });
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        co_await redis.ping();
        meter spent{server};
        co_await sleep_until(when.end);
        for (auto& part : parts)
            put_together(out, part.result(when.end + child::time_to_end));
        spent.describe_server(out);
        out["locks"] = asked.locks;
        out["workers"] = asked.workers * asked.processes;
        out["mutex_ok"] = out["overlaps"].as_int64() == 0;
        put_costs(out, out["acq_all"].as_int64(), 1);
    });
    return out;
}

}  // namespace bench
