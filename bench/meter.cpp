#include "meter.hpp"

#include <algorithm>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace bench {

namespace {

double seconds_of(timeval const& t)
{
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

rusage own_usage()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used;
}

}  // namespace

double cpu_seconds()
{
    auto const used = own_usage();
    return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double resident_bytes()
{
    // The second number is the resident pages.
    std::ifstream file{"/proc/self/statm"};
    double size = 0, resident = 0;
    file >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double peak_resident_bytes() { return static_cast<double>(own_usage().ru_maxrss) * 1024; }

meter::meter(server_info& server) : server_{&server}, before_{server.usage()} {}

void meter::describe_server(boost::json::object& into)
{
    auto const spent = server_->usage().since(before_);
    double const elapsed = seconds(steady::now() - begun_);
    into["server_cpu_s"] = spent.cpu_seconds;
    into["server_cpu_share"] = spent.cpu_seconds / elapsed;
    into["script_share"] = spent.script_seconds / elapsed;
    into["wire_cmds"] = spent.wire_commands();
    into["wire_bytes_out"] = spent.received;
    into["wire_bytes_in"] = spent.sent;
    boost::json::object calls;
    for (auto const& [command, count] : spent.calls)
        if (command != "info")
            calls[command] = count;
    into["calls"] = std::move(calls);
}

void meter::describe(boost::json::object& into)
{
    double const cpu = cpu_seconds() - cpu_;
    into["cpu_s"] = cpu;
    into["cpu_share"] = cpu / seconds(steady::now() - begun_);
    describe_server(into);
}

void put_costs(boost::json::object& into, std::int64_t acquired, std::int64_t own_pings)
{
    auto const each = static_cast<double>(std::max<std::int64_t>(acquired, 1));
    auto const wire = into["wire_cmds"].as_int64() - own_pings;
    into["wire_cmds"] = wire;
    into["wire_per_acq"] = static_cast<double>(wire) / each;
    into["wire_bytes_per_acq"] =
        (into["wire_bytes_out"].to_number<double>() + into["wire_bytes_in"].to_number<double>()) /
        each;
    into["cpu_us_per_acq"] = into["cpu_s"].as_double() * 1e6 / each;
    into["server_cpu_us_per_acq"] = into["server_cpu_s"].as_double() * 1e6 / each;
}

}  // namespace bench
