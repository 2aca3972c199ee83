// The load generator: one workload, one JSON line on standard output.
#include "workloads.hpp"
#include <colock/log/spdlog.hpp>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>

namespace {

struct workload {
    boost::json::object (*run)(bench::plan const&);
    char const* what;
};

std::map<std::string, workload> const workloads{
    {"W1", {bench::run_pairs, "one worker with a key of its own: acquire, release, again"}},
    {"W2", {bench::run_pairs, "64 workers, each with a key of its own"}},
    {"W3", {bench::run_contended, "100 workers of one process on one key, nothing held"}},
    {"W4", {bench::run_processes, "4 processes of 8 workers on one key, held for 1 ms"}},
    {"W5", {bench::run_herd, "1000 waiters of one process, each gets the key once"}},
    {"W6", {bench::run_holds, "10,000 keys are held and renewed"}},
    {"W7", {bench::run_processes, "8 processes of 1 worker on one key, nothing held"}},
    {"W8", {bench::run_cancelled, "10,000 waiters on one key, half of them cancelled"}},
    {"W9", {bench::run_beside_renewals, "W1 without, then with 100,000 holds that are renewed"}},
    {"keys", {bench::run_keys, "1000 keys that another process holds, a waiter on each"}},
};

std::string list_of_workloads()
{
    std::string text = "Workloads:";
    for (auto const& [name, w] : workloads)
        text += "\n  " + name + std::string(5 - name.size(), ' ') + w.what;
    return text;
}

/// What is no option of its own name in the plan.
struct raw {
    std::string redis = "127.0.0.1:6379";
    int links = 2;
    int hold_us = -1;
    int lease_ms = 0;
    int poll_cap_ms = 0;
    int max_tenure_ms = -1;
    int poller_gap_ms = -1;
    bool no_fencing = false;
};

void add_options(CLI::App& app, bench::plan& asked, raw& text)
{
    auto const add = [&](char const* name, auto& into, char const* what) {
        return app.add_option(name, into, what);
    };
    add("workload", asked.workload, "which")->required()->check(CLI::IsMember(workloads));
    add("--redis", text.redis, "HOST:PORT, or a URL")->capture_default_str();
    add("--seconds", asked.seconds, "measured time")->check(CLI::PositiveNumber);
    add("--warmup", asked.warmup, "time before that")->capture_default_str();
    add("--workers", asked.workers, "by process; in keys by key");
    add("--locks", asked.locks, "W6, W9, keys: how many");
    add("--processes", asked.processes, "W4, W7: how many");
    add("--hungry", asked.hungry, "W4, W7: workers of the first process");
    app.add_flag("--poller", asked.poller, "W4, W7: one more process, which tries each 5 ms");
    add("--hold-us", text.hold_us, "W4, W7: how long the key is held");
    add("--start-at", asked.start_at, "W4: run one process; ms of the epoch when the time begins");
    add("--xfile", asked.exclusive_file, "W4: the file that proves exclusion")
        ->capture_default_str();
    add("--variant", asked.variant, "copied into the result");
    add("--key", asked.key, "the key, or what the names of the keys begin with")
        ->capture_default_str();
    add("--links", text.links, "command connections")->capture_default_str();
    add("--lease", text.lease_ms, "of holds, in ms");
    add("--poll-cap", text.poll_cap_ms, "the longest sleep of a waiter, in ms");
    add("--max-tenure", text.max_tenure_ms, "how long a lock stays with the client, in ms");
    add("--poller-gap", text.poller_gap_ms, "how long a lock is left free each second, in ms");
    app.add_flag("--no-fencing", text.no_fencing, "without tokens");
}

colock::config settings_of(raw const& text)
{
    using std::chrono::milliseconds;
    bool const is_url = text.redis.find("://") != text.redis.npos;
    auto settings = colock::config::from_url(is_url ? text.redis : "redis://" + text.redis);
    settings.links = static_cast<unsigned>(text.links);
    settings.fencing = !text.no_fencing;
    if (text.lease_ms)
        settings.lease = milliseconds{text.lease_ms};
    if (text.poll_cap_ms)
        settings.poll_cap = milliseconds{text.poll_cap_ms};
    if (text.max_tenure_ms >= 0)
        settings.max_tenure = milliseconds{text.max_tenure_ms};
    if (text.poller_gap_ms >= 0)
        settings.poller_gap = milliseconds{text.poller_gap_ms};
    settings.log =
        colock::spdlog_logger(spdlog::stderr_color_mt("colock"), colock::log_level::warning);
    return settings;
}

void print(bench::plan const& asked, boost::json::object const& found)
{
    boost::json::object line{
        {"peer", "colock"},
        {"variant", asked.variant},
        {"w", asked.workload},
        {"workers", asked.workers}};
    for (auto const& [name, value] : found)
        line[name] = value;
    std::printf("%s\n", boost::json::serialize(line).c_str());
}

}  // namespace

int main(int argc, char** argv)
{
    bench::plan asked;
    raw text;
    CLI::App app{"Measures colock on a Redis server. Prints one JSON line."};
    app.footer(list_of_workloads());
    add_options(app, asked, text);
    CLI11_PARSE(app, argc, argv);

    try {
        asked.redis = settings_of(text);
        asked.hold = std::chrono::microseconds{text.hold_us};
        asked = with_defaults(std::move(asked));
        print(asked, workloads.at(asked.workload).run(asked));
    } catch (std::exception const& e) {
        std::fprintf(stderr, "colock-bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
