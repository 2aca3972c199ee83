// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/child_process.hpp"
#include "support/redis_cli.hpp"
#include <colock/config.hpp>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

enum class server_kind { redis, valkey };

std::ostream& operator<<(std::ostream&, server_kind);

/// The kinds that are on this machine.
std::vector<server_kind> installed_servers();

/// A server of our own in a temporary folder, on a unix socket and on a port of 127.0.0.1. It and
/// the folder go with this object.
class redis_server {
public:
    /// Begins to run, unless told otherwise. `lines` go into its configuration file.
    explicit redis_server(
        server_kind = server_kind::redis, std::vector<std::string> lines = {}, bool started = true
    );
    redis_server(redis_server const&) = delete;
    redis_server& operator=(redis_server const&) = delete;
    ~redis_server();

    /// Runs, on the same socket and port as before, and answers PING when this returns.
    void start();
    void kill();

    /// Kills it, so that it comes back empty.
    void restart();

    /// Stops the process, as a debugger does, and lets it go on.
    void pause();
    void resume();

    std::string const& unix_socket() const noexcept { return socket_; }
    std::uint16_t port() const noexcept { return port_; }

    /// Where a client finds it.
    config by_socket() const;
    config by_port() const;

    /// Asks it something over a connection of the tests' own.
    template <class... Words>
    reply ask(Words const&... words)
    {
        return cli()(words...);
    }

    /// A number of INFO's section: how often a script was called, for example.
    std::int64_t info(std::string const& section, std::string_view key);

    /// How many EVALSHA and EVAL it has carried out.
    std::int64_t script_calls();

private:
    redis_cli& cli();
    bool answers();

    server_kind kind_;
    std::string folder_;
    std::string socket_;
    std::uint16_t port_ = 0;
    std::vector<std::string> lines_;
    child_process process_;
    std::unique_ptr<redis_cli> cli_;
};

/// One server of this kind for all tests of the process that don't harm it.
redis_server& shared_server(server_kind);

}  // namespace colock::test
