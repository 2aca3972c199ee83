// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/redis_server.hpp"
#include <colock/config.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

/// A primary, two replicas, and three sentinels that watch them, all of our own and on ports of
/// 127.0.0.1. The data servers are counted from 0, the first primary; each keeps its number
/// whatever becomes of it. All of them go with this object.
///
/// Operations that wait throw std::runtime_error when their time is over.
class sentinel_group {
public:
    using milliseconds = std::chrono::milliseconds;

    static constexpr std::size_t servers = 3;
    static constexpr std::size_t sentinels = 3;

    /// How long a server doesn't answer until a sentinel takes it for dead. Shorter, and sentinels
    /// fail over once too often: they cut their own connections to the one they have promoted.
    static constexpr milliseconds down_after{1'000};

    /// What the sentinels call the primary.
    static std::string const& name();

    /// On a busy machine it may take sentinels several tries, four seconds each.
    static constexpr milliseconds patience{60'000};

    /// Ready when this returns: the replicas are in step, and each sentinel knows all others. The
    /// lines go into the configuration files: of passwords, for the data servers `requirepass` and
    /// `masterauth`, for the sentinels `requirepass` of their own and `sentinel auth-pass` with
    /// `name()` and that of the data servers.
    explicit sentinel_group(
        server_kind,
        std::vector<std::string> const& data_lines = {},
        std::vector<std::string> const& sentinel_lines = {}
    );

    /// Of the sentinels.
    std::vector<address> addresses() const;

    /// Where a client finds it.
    config by_sentinel() const;

    redis_server& server(std::size_t i) { return *servers_.at(i); }
    redis_server& sentinel(std::size_t i) { return *sentinels_.at(i); }

    /// What this sentinel thinks of the primary, as `SENTINEL MASTER` says it: "master,s_down".
    std::string flags_of_primary(std::size_t sentinel_number);

    /// Whether a data server says so itself.
    bool is_primary(std::size_t i);

    /// The data server that all running sentinels name, and that says so itself.
    std::optional<std::size_t> agreed_primary();

    /// The same, when there is one.
    std::size_t current_primary();

    /// Kills it at once, with all that it remembers. Returns which it was.
    std::size_t kill_primary();

    /// Waits until `current_primary()` is another one, and the sentinels are done with it. Returns
    /// that.
    std::size_t wait_for_failover(std::size_t old, milliseconds limit = patience);

    /// Waits until the sentinels are done with all that they do, and know all servers well.
    void wait_until_calm();

    /// Starts a data server again, or lets it go on, and waits until it is the primary's replica,
    /// in step, and the sentinels know. It may be a primary beside the new one until they have told
    /// it.
    void revive(std::size_t i, milliseconds limit = patience);

    /// Stops a replica, as a debugger does; `server(i).resume()` lets it go on.
    void pause_replica(std::size_t i);

private:
    void start_servers(server_kind, std::vector<std::string> const& lines);
    void start_sentinels(server_kind, std::vector<std::string> const& lines);
    void quicken(redis_server& sentinel);
    bool knows_all(redis_server& sentinel);
    bool is_in_step(std::size_t replica, std::size_t primary);
    bool is_known_replica(std::size_t i);
    bool is_calm();

    std::vector<std::unique_ptr<redis_server>> servers_;
    std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace colock::test
