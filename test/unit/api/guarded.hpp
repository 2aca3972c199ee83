// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/api/running.hpp"
#include <colock/semaphore.hpp>

#include <cstdint>
#include <utility>

namespace colock::test {

/// A client on a server that knows the scripts.
struct guarded : harness {
    guarded() : harness{} { redis.attach(*server); }
    explicit guarded(config c) : harness{std::move(c)} { redis.attach(*server); }

    semaphore permits(std::int64_t n)
    {
        redis.set_counter("s", n);
        return {client, "s"};
    }

    script_server redis;
};

}  // namespace colock::test
