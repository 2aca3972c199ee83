// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "command.hpp"
#include "workloads.hpp"
#include <colock/metrics.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

namespace {

struct workload {
    boost::json::object (*run)(plan const&);
    char const* what;
};

std::map<std::string, workload> const workloads{
    {"W1", {run_pairs, "one worker with a key of its own: acquire, release, again"}},
    {"W1d", {run_pairs, "as W1, but each hold is dropped, not released"}},
    {"W2", {run_pairs, "64 workers, each with a key of its own"}},
    {"W3", {run_contended, "100 workers of one process on one key, nothing held"}},
    {"W4", {run_processes, "4 processes of 8 workers on one key, held for 1 ms"}},
    {"W5", {run_herd, "1000 waiters of one process, each gets the key once"}},
    {"W6", {run_holds, "10,000 keys are held and renewed"}},
    {"W7", {run_processes, "8 processes of 1 worker on one key, nothing held"}},
    {"W8", {run_cancelled, "10,000 waiters on one key, half of them cancelled"}},
    {"W9", {run_beside_renewals, "W1 without, then with 100,000 holds that are renewed"}},
    {"W10", {run_crowd, "1000 clients with a waiter each: each gets the one key once"}},
    {"W11", {run_mix, "16 processes of 32 workers on 1000 keys, few of them hot, held for 1 ms"}},
    {"W12", {run_keys, "as keys, with 100,000"}},
    {"keys", {run_keys, "1000 keys that another process holds, a waiter on each"}},
};

/// What the workloads are compared with.
std::map<std::string, workload> const yardsticks{
    {"PING", {run_pings, "one PING after the other"}},
    {"connections", {run_connections, "200 idle connections"}},
    {"many", {run_many, "10,000 free names: by one call, or each by its own"}},
};

workload const& find(std::string const& name)
{
    auto const yardstick = yardsticks.find(name);
    return yardstick == yardsticks.end() ? workloads.at(name) : yardstick->second;
}

std::vector<std::string> names_of(std::map<std::string, workload> const& some)
{
    std::vector<std::string> names;
    names.reserve(some.size());
    for (auto const& [name, w] : some)
        names.push_back(name);
    return names;
}

std::string list(std::map<std::string, workload> const& some, std::size_t width)
{
    std::string text;
    for (auto const& [name, w] : some)
        text += "\n  " + name + std::string(width - name.size(), ' ') + w.what;
    return text;
}

}  // namespace

std::string list_of_workloads() { return "Workloads:" + list(workloads, 5); }

std::string list_of_yardsticks() { return "Yardsticks:" + list(yardsticks, 12); }

std::string describe(request const& r)
{
    return r.asked.workload + ": " + find(r.asked.workload).what;
}

/// A day is enough, and `nan` is a number to those who read numbers.
std::string is_time(std::string const& text)
{
    double const seconds = std::strtod(text.c_str(), nullptr);
    return seconds >= 0 && seconds <= 86'400 ? "" : text + " is no time up to 86400 s";
}

void add_options(CLI::App& app, request& r)
{
    auto const add = [&](char const* name, auto& into, char const* what) {
        return app.add_option(name, into, what);
    };
    add("workload", r.asked.workload, "which")->required()->check(CLI::IsMember(workloads));
    add("--seconds", r.asked.seconds, "measured time")->check(is_time)->check(CLI::PositiveNumber);
    add("--warmup", r.asked.warmup, "time before that")
        ->capture_default_str()
        ->check(is_time)
        ->check(CLI::NonNegativeNumber);
    add("--workers", r.asked.workers, "by process; in keys by key; in W10 the clients")
        ->check(CLI::PositiveNumber);
    add("--locks", r.asked.locks, "W6, W9, W11, W12, keys: how many")->check(CLI::PositiveNumber);
    add("--processes", r.asked.processes, "W4, W7, W10, W11: how many")->check(CLI::PositiveNumber);
    add("--hungry", r.asked.hungry, "W4, W7: workers of the first process")
        ->check(CLI::PositiveNumber);
    app.add_flag("--poller", r.asked.poller, "W4, W7: one more process, which tries each 5 ms");
    add("--hold-us", r.hold_us, "W4, W7, W11: how long the key is held")
        ->check(CLI::NonNegativeNumber);
    add("--start-at", r.asked.start_at, "W4: run one process; ms of the epoch when the time begins"
    );
    add("--xfile", r.asked.exclusive_file, "W4: the file that proves exclusion")
        ->capture_default_str();
    add("--variant",
        r.asked.variant,
        "copied into the result; of W10 what is waited for: lock, fair, semaphore, permit");
    add("--key", r.asked.key, "the key, or what the names of the keys begin with")
        ->capture_default_str();
    add("--links", r.links, "command connections")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    add("--lease", r.lease_ms, "of holds, in ms");
    add("--poll-cap", r.poll_cap_ms, "the longest sleep of a waiter, in ms");
    add("--max-tenure", r.max_tenure_ms, "how long a lock stays with the client, in ms");
    app.add_flag("--no-fencing", r.no_fencing, "without tokens");
    app.add_flag("--metrics", r.metrics, "counted by colock::metrics; not in W6 and W9");
}

void add_yardsticks(CLI::App& app, request& r)
{
    app.remove_option(app.get_option("workload"));
    auto names = names_of(workloads);
    for (auto& name : names_of(yardsticks))
        names.push_back(std::move(name));
    app.add_option("workload", r.asked.workload, "which")->required()->check(CLI::IsMember(names));
    app.add_option("--rounds", r.asked.rounds, "W1, W2, PING: how many, instead of a time");
    app.add_flag("--raw", r.asked.raw, "W1, W2, PING: bare sockets that send what colock sends");
}

plan plan_of(request const& r, colock::config where)
{
    using std::chrono::milliseconds;
    where.links = static_cast<unsigned>(r.links);
    where.fencing = !r.no_fencing;
    if (r.metrics)
        where.observer = std::make_shared<colock::metrics>();
    if (r.lease_ms)
        where.lease = milliseconds{r.lease_ms};
    if (r.poll_cap_ms)
        where.poll_cap = milliseconds{r.poll_cap_ms};
    if (r.max_tenure_ms >= 0)
        where.max_tenure = milliseconds{r.max_tenure_ms};
    auto asked = r.asked;
    asked.redis = std::move(where);
    asked.hold = std::chrono::microseconds{r.hold_us};
    bool const counts_rounds =
        asked.workload == "W1" || asked.workload == "W2" || asked.workload == "PING";
    if (!counts_rounds && (asked.raw || asked.rounds))
        throw std::runtime_error("--raw and --rounds are for W1, W2 and PING");
    return with_defaults(std::move(asked));
}

boost::json::object measure(plan const& asked)
{
    auto const run = asked.raw ? run_raw : find(asked.workload).run;
    boost::json::object line{
        {"peer", asked.raw ? "raw" : "colock"},
        {"variant", asked.variant},
        {"w", asked.workload},
        {"workers", asked.workers}};
    for (auto const& [name, value] : run(asked))
        line[name] = value;
    return line;
}

}  // namespace bench
