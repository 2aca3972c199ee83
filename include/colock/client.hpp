// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <colock/detail/abi.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace colock {

template <class>
class basic_lock;
class countdown_latch;
class permit_semaphore;
class semaphore;

/// What a client is doing at one moment.
struct client_stats {
    std::size_t links_up = 0;       ///< connections that are up, that for pub/sub included
    std::size_t holds = 0;          ///< holds given out, neither released nor lost
    std::size_t waiters = 0;        ///< acquires that wait
    std::size_t keys = 0;           ///< names with a hold, a waiter or a release under way
    std::size_t subscriptions = 0;  ///< channels, those that linger included
    std::size_t owed_releases = 0;  ///< releases that the server has not yet confirmed
    std::uint64_t reconnects = 0;   ///< connections that came up again, after a loss or for want
                                    ///< of work
};

namespace detail {
using finished = void(error_code);
struct client_access;  // of the tests
void client_run(core_ptr, asio::any_completion_handler<finished>);
void client_close(core_ptr, asio::any_completion_handler<finished>);

using pinged = void(error_code, std::chrono::microseconds);
void client_ping(core_ptr, asio::any_completion_handler<pinged>);
}  // namespace detail

/// One Redis or Valkey deployment: its connections, its holds and its waiters.
///
/// A server makes one client and shares it. Its state lives on a strand of its own; locks are
/// cheap handles to it.
///
/// \par Connecting
///   The first operation of a lock, semaphore or latch brings the connections up, and so does
///   `run()`, which a program may leave out. A config that breaks a rule fails each operation at
///   once with `error::invalid_config`, a file for TLS that can't be used with
///   `error::invalid_tls`, a server that refuses the password with `error::server_refused`. Where
///   no server can be reached, operations wait as after any loss of a connection.
/// \par What keeps the execution context busy
///   `run()`, until it completes. Without it: operations under way, holds that live, releases that
///   are owed, subscriptions that linger, and the connections until nothing has needed them for a
///   second or two. Then they go, and the next operation makes new ones. So a program that has no
///   more to do ends by itself, if the client still lives two seconds later. A context that has
///   run out of work serves the client again when it runs again.
/// \par After the end
///   After `stop()`, or a `run()` that was cancelled, operations end at once with `error::closed`,
///   until `run()` is called again; after `close()` they do for good.
/// \par Executor
///   Handlers run on their associated executor, else on the client's; never inline, never on its
///   strand.
/// \par Thread-safety
///   Safe: all members but the destructor may be called on a shared object from any thread.
/// \par Lifetimes
///   Must be destroyed before its execution context. Not to be used in a forked child, where it
///   would be a second process with the same identity.
class client {
public:
    /// That of its handlers, unless they have one of their own.
    using executor_type = boost::asio::any_io_executor;

    /// Makes a client; connects nothing before the first operation or `run()`.
    explicit client(boost::asio::any_io_executor executor, config settings = {});

    /// What waits, and what is asked of its locks later, ends with `error::closed`. What is given
    /// back by then still goes out: releases of holds that were destroyed or released before this,
    /// and of acquires that are granted too late. The connections stay for them until the server
    /// has answered, for `config::timeout` at most (or `config::close_timeout`, if that is less),
    /// while the execution context runs; what is unanswered then is in the log. With nothing to
    /// give back they are dropped at once.
    ///
    /// Holds that outlive the client are not released: they are lost when their leases end. Nor is
    /// anything sent by a context that doesn't run any more. `close()` tells what came of it all.
    ~client();

    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// The one that it was made with, never its strand.
    executor_type get_executor() const noexcept { return detail::executor_of(core_); }

    /// Connects now, and keeps the connections up while nothing needs them. For programs that want
    /// to know of a bad config before the first operation, that want its connections ready, or
    /// that wait for the client's end.
    ///
    /// Connections are kept with or without it as long as something needs them: after a loss they
    /// are made again, with subscriptions restored, waiters woken and holds confirmed.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   After `stop()`, `close()` or the destructor, without error. Never because of a connection.
    /// \par Errors
    ///   - `error::invalid_argument` — the config breaks a rule; the log says which.
    ///   - `error::invalid_tls` — a file of `config::tls` can't be used; the log says which and
    ///   why.
    ///   - `error::closed` — `close()` was called before.
    ///   - `boost::asio::error::already_started` — another `run()` has not completed.
    /// \par Cancellation
    ///   terminal, partial, total: as `stop()`, and completes with `operation_aborted`.
    template <detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto run(Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            core_, &detail::client_run, std::forward<Token>(token)
        );
    }

    /// Ends the client in order: refuses new work, ends the waiters with `error::closed`, releases
    /// what is held, waits for the server's answers, then ends `run()`. Holds that live are
    /// released under their owners, whose `lost()` says so.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - success — everything is released.
    ///   - `error::unavailable` — some release was refused, or not answered within
    ///     `config::close_timeout`, or something is held since before a `stop()`; those leases run
    ///     out by themselves.
    ///   - `error::closed` — it was closed before, or stopped before all was released.
    /// \par Cancellation
    ///   terminal, partial, total: ends the waiting; the closing goes on.
    template <detail::token_for<detail::finished> Token = boost::asio::deferred_t>
    auto close(Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            core_, &detail::client_close, std::forward<Token>(token)
        );
    }

    /// Asks the server for a sign of life, over one of the command connections.
    ///
    /// \par Completion signature
    ///   `void(error_code, std::chrono::microseconds)`; the time from just before the command was
    ///   written to its answer.
    /// \par Errors
    ///   - `error::server_refused`, `error::closed`
    ///   - `error::unavailable` or the link's last error — no answer within `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the waiting.
    template <detail::token_for<detail::pinged> Token = boost::asio::deferred_t>
    auto ping(Token&& token = {}) const
    {
        return detail::initiate<detail::pinged>(
            core_, &detail::client_ping, std::forward<Token>(token)
        );
    }

    /// Drops the connections at once; waiters end with `error::closed`, leases run out by
    /// themselves. What is asked of the client from then on ends with `error::closed`, until
    /// `run()` is called again.
    void stop();

    /// A picture of the last moment; cheap, from any thread.
    client_stats stats() const;

private:
    friend class countdown_latch;
    template <class>
    friend class basic_lock;
    friend class permit_semaphore;
    friend class semaphore;
    friend struct detail::client_access;
    explicit client(detail::core_ptr inside) noexcept : core_{std::move(inside)} {}

    detail::core_ptr core_;
};

}  // namespace colock
