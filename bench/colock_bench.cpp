// The load generator: one workload, one JSON line on standard output.
#include "workload.hpp"
#include <colock/log/spdlog.hpp>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv)
{
    bench::plan asked;
    std::string redis = "127.0.0.1:6379";
    bool no_fencing = false;
    CLI::App app{"Measures colock on a Redis server. Prints one JSON line."};
    app.add_option("workload", asked.workload, "W1: one worker; W2: many, each a key of its own")
        ->required()
        ->check(CLI::IsMember({"W1", "W2"}));
    app.add_option("--redis", redis, "HOST:PORT, or a URL")->capture_default_str();
    app.add_option("--seconds", asked.seconds, "measured time")->capture_default_str();
    app.add_option("--warmup", asked.warmup, "time before that")->capture_default_str();
    app.add_option("--workers", asked.workers, "0: W1 has 1, W2 64")->capture_default_str();
    app.add_option("--variant", asked.variant, "copied into the result");
    app.add_option("--key", asked.key, "what the names of the keys begin with");
    app.add_option("--links", asked.redis.links, "command connections")->capture_default_str();
    app.add_flag("--no-fencing", no_fencing, "without tokens");
    CLI11_PARSE(app, argc, argv);

    try {
        unsigned const links = asked.redis.links;
        asked.redis =
            colock::config::from_url(redis.find("://") == redis.npos ? "redis://" + redis : redis);
        asked.redis.links = links;
        asked.redis.fencing = !no_fencing;
        asked.redis.log =
            colock::spdlog_logger(spdlog::stderr_color_mt("colock"), colock::log_level::warning);
        if (asked.workers <= 0)
            asked.workers = asked.workload == "W1" ? 1 : 64;
        std::printf("%s\n", bench::run_pairs(asked).to_json().c_str());
    } catch (std::exception const& e) {
        std::fprintf(stderr, "colock-bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
