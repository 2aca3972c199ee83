// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "redis/transport.hpp"
#include <colock/observer.hpp>

#include <string>
#include <utility>
#include <variant>

// What peers failed in, played again: docs/internals/failures.md says who saw it, and what colock
// does.
namespace colock::test {

/// A server behind a network that can be told to misbehave.
struct far_lab : lab {
    explicit far_lab(server_kind kind) : far_lab{shared_server(kind)} {}
    explicit far_lab(redis_server& where) : lab{where}, network{where.port()} {}

    /// Over the network, on one connection for commands.
    config by_network()
    {
        auto settings = quick(server().by_port());
        settings.addresses.front().port = network.port();
        settings.links = 1;
        return settings;
    }

    /// The same, and a network that says nothing isn't noticed in the time of a test.
    config patient()
    {
        auto settings = by_network();
        settings.silence_timeout = 10s;
        settings.connect_timeout = 10s;
        return settings;
    }

    proxy network;
};

inline config with_lease(config settings, milliseconds lease)
{
    settings.lease = lease;
    return settings;
}

/// Where no lease is to end, and no connection to be given up, however busy the machine is.
inline config calm(config settings) { return with_lease(std::move(settings), 10s); }

/// Counts what a client says of itself.
struct counts final : observer {
    void on_event(client_event const& what) noexcept override
    {
        if (auto const* const entry = std::get_if<events::acquired>(&what)) {
            ++entries;
            attempts += entry->attempts;
        }
        waits += std::holds_alternative<events::waiting>(what);
        losses += std::holds_alternative<events::lost>(what);
        releases += std::holds_alternative<events::released>(what);
    }

    std::size_t entries = 0, attempts = 0, waits = 0, losses = 0, releases = 0;
};

inline asio::awaitable<void> pause_for(milliseconds time)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::deferred);
}

/// Somebody else takes the lock, who is no client of ours.
inline void take_by_hand(redis_server& server, std::string const& name, milliseconds lease = 10s)
{
    server.ask("HSET", name, "somebody:1", "1");
    server.ask("PEXPIRE", name, std::to_string(lease.count()));
}

/// As his release does; the result says how many heard of it.
inline std::int64_t release_by_hand(redis_server& server, std::string const& name)
{
    server.ask("DEL", name);
    return server.ask("PUBLISH", "redisson_lock__channel:{" + name + "}", "0").number;
}

/// Until somebody listens for the release of this lock.
inline asio::awaitable<bool> is_waited_for(redis_server& server, std::string name)
{
    auto const channel = "redisson_lock__channel:{" + name + "}";
    co_return co_await eventually([&] { return server.listeners(channel) >= 1; });
}

/// The error that `what` throws.
template <class F>
asio::awaitable<error_code> thrown_by(F what)
{
    try {
        co_await what();
    } catch (boost::system::system_error const& e) {
        co_return e.code();
    }
    co_return error_code{};
}

}  // namespace colock::test
