// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "simulation/keyspace.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace colock::simulation {

/// Which subscribers a message goes to: of SUBSCRIBE, or of SSUBSCRIBE.
enum class audience { channel, shard_channel };

/// Hands a message out and says how many subscribers get it.
using publisher =
    std::function<std::int64_t(audience, std::string_view channel, std::string_view payload)>;

/// Says how many subscribers a channel has.
using subscriber_count = std::function<std::int64_t(audience, std::string_view channel)>;

/// A Redis server without a network: it runs scripts with Lua 5.1, as Redis does, on keys in
/// memory. The clock stands still inside a script. A script that fails half-way takes nothing back.
///
/// It has the commands that colock's scripts and tests use. What it lacks answers with an error.
class server {
public:
    /// `now` is the server's wall clock in microseconds since the epoch.
    explicit server(std::function<std::int64_t()> now);
    server(server const&) = delete;
    server& operator=(server const&) = delete;
    ~server();

    /// EVAL. An error is a reply of that kind, in Redis's words.
    decide::reply run(
        std::string_view text,
        std::span<std::string_view const> keys,
        std::span<std::string_view const> arguments
    );

    /// A command by itself: PING, GET, PTTL, FLUSHALL and the like.
    decide::reply command(std::span<std::string_view const> words);

    /// Without them there are no subscribers. They must not throw.
    publisher publish;
    subscriber_count subscribers;

    /// As with maxmemory reached and noeviction: scripts are refused what needs memory.
    bool is_full = false;

    /// All keys that have not expired. A copy is what a replica has.
    keyspace const& data();
    void restore(keyspace);

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace colock::simulation
