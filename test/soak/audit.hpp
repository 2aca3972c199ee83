// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "soak/crowd.hpp"
#include "support/redis_server.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace colock::soak {

/// Of this process, in bytes; what is free was given back to the system before.
std::size_t resident_memory();

/// What there is when nobody does anything.
struct findings {
    std::vector<std::string> wrong;
    std::size_t fencing_counters = 0;  ///< of locks, and of fenced locks: they stay
    std::size_t records = 0;           ///< of requests of semaphores and latches: for an hour
    std::size_t semaphores = 0;        ///< with all their permits
    std::size_t latches = 0;           ///< that a cancelled visit had left closed
    milliseconds until_quiet{0};       ///< tables and channels
    std::size_t memory = 0;
};

/// Looks at clients and server when all tasks have ended.
class audit {
public:
    audit(plan const& what, test::redis_server& server, crowd::clients at)
        : plan_{what}
        , server_{server}
        , clients_{at}
    {}

    asio::awaitable<findings> look();

private:
    asio::awaitable<void> look_at_tables(findings&);
    asio::awaitable<void> open_latches(findings&);
    asio::awaitable<void> end_leases();
    asio::awaitable<void> look_at_permits(findings&);
    asio::awaitable<void> look_at_keys(findings&);
    std::vector<std::string> strangers(findings&);
    bool is_quiet();

    plan plan_;
    test::redis_server& server_;
    crowd::clients clients_;
};

}  // namespace colock::soak
