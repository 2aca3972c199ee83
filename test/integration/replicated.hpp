// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <string>

namespace colock::test {

/// A primary and its only replica, in step.
struct replicated {
    explicit replicated(server_kind kind)
        : primary{kind, {"repl-diskless-sync yes", "repl-diskless-sync-delay 0"}}
        , replica{kind, {"replicaof 127.0.0.1 " + std::to_string(primary.port())}}
    {
        // It is sent nothing before its first acknowledgement.
        wait_until("the replica", 10s, [this] {
            primary.ask("SET", "other:key", "1");
            return primary.info("replication", ",offset=") > 0;
        });
    }

    redis_server primary;
    redis_server replica;
};

}  // namespace colock::test
