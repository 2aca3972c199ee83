#include "child.hpp"
#include "contender_process.hpp"
#include "meter.hpp"
#include "session.hpp"
#include "workloads.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>

namespace bench {

namespace {

/// The time that the processes have to come up before the warm-up, and to end after the window.
constexpr steady::duration to_come_up = std::chrono::milliseconds{500};

/// What the processes have returned, together. As for the peers, whose processes know nothing of
/// each other, a quantile is that of the process where it is the worst.
class together {
public:
    void add(json::object one)
    {
        for (auto const* name :
             {"workers", "acq", "acq_all", "errors", "overlaps", "rate", "turns", "cpu_s"})
            add_number(name, one);
        for (auto const* name : {"p50_us", "p99_us", "max_us", "max_w"})
            extreme(name, one, [](double a, double b) { return std::max(a, b); });
        for (auto const* name : {"client_wait_p99_ms", "client_wait_max_ms"})
            extreme(name, one, [](double a, double b) { return std::max(a, b); });
        extreme("min_w", one, [](double a, double b) { return std::min(a, b); });
        held_us_ += one["hold_us"].to_number<double>() * one["acq_all"].to_number<double>();
        for (auto const& ns : one["handover_ns"].as_array())
            handover_.add(std::chrono::nanoseconds{ns.to_number<std::int64_t>()});
        one.erase("handover_ns");
        each_.push_back(std::move(one));
    }

    json::object finish(double ping_us, double burst_us)
    {
        all_["mutex_ok"] = all_["overlaps"].as_int64() == 0;
        auto const in_all = all_["acq_all"].to_number<double>();
        auto const rate = all_["rate"].to_number<double>();
        auto const hold = in_all > 0 ? held_us_ / in_all : 0;
        all_["hold_us"] = hold;
        all_["handoff_us"] = rate > 0 ? 1e6 / rate - hold : 0;
        spread("acq", "min_p", "max_p");
        spread("turns", "min_turns", "max_turns");
        auto const turns = all_["turns"].to_number<double>();
        all_["acq_per_turn"] = turns > 0 ? all_["acq"].to_number<double>() / turns : 0;
        all_["handover_p50_us"] = handover_.microseconds(0.5);
        all_["handover_p99_us"] = handover_.microseconds(0.99);
        all_["ping_p50_us"] = ping_us;
        all_["ping_burst_p50_us"] = burst_us;
        if (ping_us > 0 && burst_us > 0) {
            all_["handover_p50_rtt"] = handover_.microseconds(0.5) / ping_us;
            all_["handover_p50_burst_rtt"] = handover_.microseconds(0.5) / burst_us;
        }
        all_["by_process"] = std::move(each_);
        return std::move(all_);
    }

private:
    void add_number(char const* name, json::object const& one)
    {
        auto& sum = all_[name];
        auto const& more = one.at(name);
        if (more.is_double())
            sum = (sum.is_null() ? 0 : sum.as_double()) + more.as_double();
        else
            sum = (sum.is_null() ? 0 : sum.as_int64()) + more.to_number<std::int64_t>();
    }

    template <class Choose>
    void extreme(char const* name, json::object const& one, Choose choose)
    {
        auto const value = one.at(name).to_number<double>();
        auto& chosen = all_[name];
        chosen = chosen.is_null() ? value : choose(chosen.as_double(), value);
    }

    void spread(char const* name, char const* least, char const* most)
    {
        auto const less = [&](json::value const& a, json::value const& b) {
            return a.at(name).to_number<double>() < b.at(name).to_number<double>();
        };
        auto const [low, high] = std::ranges::minmax_element(each_, less);
        all_[least] = low->at(name);
        all_[most] = high->at(name);
    }

    json::object all_;
    json::array each_;
    samples handover_;
    double held_us_ = 0;
};

/// A ping now and then while the others work.
asio::awaitable<samples> ping_during(colock::client const* redis, window when)
{
    samples found;
    co_await sleep_until(when.begin);
    while (steady::now() < when.end) {
        auto const start = steady::now();
        co_await redis->ping();
        found.add(steady::now() - start);
        co_await sleep_for(std::chrono::milliseconds{20});
    }
    co_return found;
}

/// The processes, made before this one has a client.
std::deque<child> start(plan const& asked, window when, board& common)
{
    std::deque<child> made;
    for (int i = 0; i != asked.processes; ++i) {
        auto own = asked;
        if (i == 0 && asked.hungry > 0)
            own.workers = asked.hungry;
        made.emplace_back([&] { return run_contender(own, when, common, i); });
    }
    if (asked.poller)
        made.emplace_back([&] { return run_poller(asked, when, common, asked.processes); });
    return made;
}

}  // namespace

json::object run_processes(plan const& asked)
{
    shared<board> common;
    auto when = window_of(asked);
    if (asked.start_at) {
        common->open = true;
        auto out = run_contender(asked, when, *common, 0);
        // They would be about this process alone.
        for (auto const* name :
             {"turns", "client_wait_p99_ms", "client_wait_max_ms", "handover_ns"})
            out.erase(name);
        return out;
    }
    std::remove(asked.exclusive_file.c_str());  // of a run that was killed
    when.begin += to_come_up;
    when.end += to_come_up;
    auto children = start(asked, when, *common);
    json::object out;
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        server_info server{asked};
        auto burst = co_await ping_burst(&redis);
        meter spent{server};
        common->open = true;
        auto pings = co_await ping_during(&redis, when);
        together all;
        for (int i = 0; i != asked.processes; ++i)
            all.add(children[static_cast<std::size_t>(i)].result(when.end + child::time_to_end));
        out = all.finish(pings.microseconds(0.5), burst.microseconds(0.5));
        if (asked.poller)
            out["poller"] = children.back().result(when.end + child::time_to_end);
        spent.describe_server(out);
        put_costs(out, out["acq_all"].as_int64(), static_cast<std::int64_t>(pings.size()));
    });
    return out;
}

}  // namespace bench
