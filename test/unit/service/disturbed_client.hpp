// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"

#include <utility>

namespace colock::test {

/// A client of a server that knows the scripts, and may be silent.
struct disturbed_client : harness {
    explicit disturbed_client(config settings = short_leases()) : harness{std::move(settings)}
    {
        redis.attach(*server);
    }
    void be_silent() { server->serve = {}; }
    void serve_again() { redis.attach(*server); }

    script_server redis;
};

}  // namespace colock::test
