// The load generator: one workload, one JSON line on standard output.
#include "command.hpp"
#include <colock/log/spdlog.hpp>

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdio>
#include <exception>

namespace {

/// Of HOST:PORT or a URL.
colock::config settings_of(std::string const& redis)
{
    bool const is_url = redis.find("://") != redis.npos;
    return colock::config::from_url(is_url ? redis : "redis://" + redis);
}

}  // namespace

int main(int argc, char** argv)
{
    bench::request asked;
    std::string redis = "127.0.0.1:6379";
    CLI::App app{"Measures colock on a Redis server. Prints one JSON line."};
    app.footer(bench::list_of_workloads() + "\n\n" + bench::list_of_yardsticks());
    bench::add_options(app, asked);
    bench::add_yardsticks(app, asked);
    std::string ca_file;
    std::string info;
    app.add_option("--redis", redis, "HOST:PORT, or a URL")->capture_default_str();
    app.add_option("--ca-file", ca_file, "whom TLS trusts; the system's authorities unless set");
    app.add_option("--info", info, "HOST:PORT of the server without TLS, to ask what it spends");
    CLI11_PARSE(app, argc, argv);

    try {
        auto where = settings_of(redis);
        where.tls.ca_file = ca_file;
        if (!info.empty())
            asked.asked.info = settings_of(info).addresses.front();
        where.log =
            colock::spdlog_logger(spdlog::stderr_color_mt("colock"), colock::log_level::warning);
        auto const found = bench::measure(bench::plan_of(asked, std::move(where)));
        std::printf("%s\n", boost::json::serialize(found).c_str());
    } catch (std::exception const& e) {
        std::fprintf(stderr, "colock-bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
