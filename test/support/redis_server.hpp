// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "support/child_process.hpp"
#include "support/ports.hpp"
#include <colock/config.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

using decide::reply;

/// A small blocking client for the tests' own questions, apart from all that is tested. Each
/// operation throws when the server has not answered within five seconds.
class redis_cli {
public:
    explicit redis_cli(std::string const& unix_socket);
    redis_cli(redis_cli const&) = delete;
    redis_cli& operator=(redis_cli const&) = delete;
    ~redis_cli();

    /// Sends a command and reads its reply; an error of the server is a reply.
    reply command(std::vector<std::string> const& words);

    /// Sends one whose reply is read later, or never.
    void send(std::vector<std::string> const& words);

    template <class... Words>
    reply operator()(Words const&... words)
    {
        return command({std::string{words}...});
    }

    /// Reads what comes next: of a subscriber, a message.
    reply read();

    /// By the server.
    bool is_closed() noexcept;

private:
    std::string read_line();
    std::string read_bytes(std::size_t count);
    void fill();

    int socket_;
    std::string received_;
};

enum class server_kind { redis, valkey };

std::ostream& operator<<(std::ostream&, server_kind);

/// CI=true: there a missing part is a failure, not a test less.
bool nothing_is_left_out();

/// The kinds that are on this machine; COLOCK_ONLY_SERVER=redis or =valkey leaves one of them.
std::vector<server_kind> installed_servers();

/// The kind of who asks for none: that of COLOCK_SERVER, else Redis.
server_kind usual_server();

/// A server of our own in a temporary folder, on a unix socket and on a port of 127.0.0.1. It and
/// the folder go with this object.
class redis_server {
public:
    /// Begins to run, unless told otherwise. `lines` go into its configuration file, which is
    /// written once: what the server itself writes there stays. `arguments` come behind the file's
    /// name when the program is started.
    explicit redis_server(
        server_kind = usual_server(),
        std::vector<std::string> lines = {},
        bool started = true,
        std::vector<std::string> arguments = {}
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

    /// False of one that is killed, paused or has died.
    bool is_running() noexcept { return !paused_ && process_.is_running(); }
    bool is_paused() const noexcept { return paused_; }

    std::string const& unix_socket() const noexcept { return socket_; }
    std::uint16_t port() const noexcept { return port_; }
    std::string const& folder() const noexcept { return folder_; }

    /// Of the line `requirepass`; the tests' own connection gives it by itself.
    std::string const& password() const noexcept { return password_; }

    /// Where a client finds it.
    config by_socket() const;
    config by_port() const;

    /// Asks it something over a connection of the tests' own, which is made anew when the server
    /// has closed it. Throws when the server closes it now, or takes five seconds.
    template <class... Words>
    reply ask(Words const&... words)
    {
        return command({std::string{words}...});
    }

    reply command(std::vector<std::string> const& words);

    /// A number of INFO's section: how often a script was called, for example.
    std::int64_t info(std::string const& section, std::string_view key);

    /// How many EVALSHA it has carried out. EVAL is also what each connection begins with.
    std::int64_t script_calls();

    /// How many subscriptions there are to the lock's channel, and to those of single clients that
    /// wait for it. `way`: "SHARD" for sharded ones.
    std::int64_t listeners(std::string const& lock_channel, std::string const& way = "");

private:
    redis_cli& cli();
    bool answers();
    void configure(std::vector<std::string> const& lines);

    server_kind kind_;
    std::string folder_;
    std::string socket_;
    reserved_port port_;
    std::string password_;
    std::vector<std::string> arguments_;
    bool paused_ = false;
    child_process process_;
    std::unique_ptr<redis_cli> cli_;
};

/// One server of this kind for all tests of the process that don't harm it.
redis_server& shared_server(server_kind);

}  // namespace colock::test
