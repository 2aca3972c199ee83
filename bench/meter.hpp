#pragma once

#include "plan.hpp"
#include "server_info.hpp"

#include <boost/json/object.hpp>

#include <cstdint>

namespace bench {

/// What this process has used so far: user and system time, its threads together.
double cpu_seconds();

/// Resident memory now, in bytes.
double resident_bytes();

/// The highest that it has been, in bytes.
double peak_resident_bytes();

inline double megabytes(double bytes) { return bytes / (1 << 20); }

/// What both sides spend from here on.
class meter {
public:
    explicit meter(server_info& server);

    /// The server's processor time and that in scripts, in seconds and as shares of one processor,
    /// and its commands.
    void describe_server(boost::json::object& into);

    /// This process's processor time too.
    void describe(boost::json::object& into);

private:
    server_info* server_;
    steady::time_point begun_ = steady::now();
    double cpu_ = cpu_seconds();
    server_usage before_;
};

/// Adds what an acquisition has cost to what both sides have spent. Takes `own_pings` commands
/// away, which the bench sent itself.
void put_costs(boost::json::object& into, std::int64_t acquired, std::int64_t own_pings = 0);

}  // namespace bench
