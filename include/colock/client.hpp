// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/claim.hpp>
#include <colock/config.hpp>
#include <colock/detail/abi.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>
#include <colock/inspect.hpp>
#include <colock/options.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

template <class>
class basic_lock;
class countdown_latch;
class election;
class hold;
class permit_semaphore;
class semaphore;

/// The state of a client at one moment, in numbers.
struct client_stats {
    std::size_t links_up = 0;       ///< connections that are up, those for pub/sub included; not
                                    ///< the one that reads a cluster's slot map
    std::size_t holds = 0;          ///< holds that are neither released nor lost
    std::size_t waiters = 0;        ///< acquires that are waiting
    std::size_t keys = 0;           ///< names with a hold, a waiter or a release under way
    std::size_t subscriptions = 0;  ///< subscribed channels, with or without a waiter; not the
                                    ///< client's own mailbox
    std::size_t owed_releases = 0;  ///< releases that the server has not confirmed yet
    std::uint64_t reconnects = 0;   ///< connections that came up again, after a loss or for want
                                    ///< of work
    std::size_t owed_copies = 0;    ///< releases that the server has confirmed, and that replicas
                                    ///< or disk may not have yet (`config::durability`)
};

class client;

namespace detail {
using finished = void(error_code);
using inspected = void(error_code, lock_info);
void client_inspect(core_ptr, handler<inspected>, std::string name);
using adopted = void(error_code, hold);
void adopt_claim(core_ptr, handler<adopted>, claim, acquire_options);
struct client_access;  // of the tests
core_ptr const& core_of(client const&) noexcept;
void client_run(core_ptr, handler<finished>);
void client_close(core_ptr, handler<finished>);

using pinged = void(error_code, std::chrono::microseconds);
void client_ping(core_ptr, handler<pinged>);
}  // namespace detail

/// One Redis or Valkey deployment: its connections, its holds and its waiters.
///
/// Make one client per process and share it. Its state lives on its own strand; locks are cheap
/// handles to it.
///
/// \par Connecting
///   The first operation of a lock, semaphore or latch opens the connections. So does `run()`,
///   which a program may leave out. If no server can be reached, operations wait, as they do
///   whenever a connection is lost. They do not wait for what waiting cannot cure, and fail at
///   once: a config that breaks a rule (`error::invalid_config`), a TLS file that can't be used
///   (`error::invalid_tls`), a server that refuses the password (`error::server_refused`) or does
///   not fit the config (`error::tls_refused`, `error::wrong_topology`).
/// \par What keeps the execution context busy
///   `run()` does, until it completes. Without it, these do: operations under way, living holds,
///   releases that the server has not confirmed, subscriptions (they stay open for
///   `config::linger`), and the connections. The client closes the connections when nothing has
///   needed them for a second or two; the next operation opens new ones. So a program that has
///   nothing more to do ends by itself, if the client still lives two seconds later. A context that
///   ran out of work serves the client again when it runs again.
/// \par After the end
///   After `stop()`, or after a cancelled `run()`, operations end at once with `error::closed`
///   until `run()` is called again. After `close()` they do so for good.
/// \par Errors of every operation
///   An operation names its own errors. If it needs the server, it can also end with these:
///   - `error::closed` — the client was closed or stopped.
///   - `error::invalid_config`, `error::invalid_tls` — the client cannot connect, as above.
///   - `error::no_hash_tag` — in a cluster: the braces of the name are empty or not closed, so that
///     the keys of the name would not be at one server. Nothing was sent. Pair them.
///   - `error::server_refused` — the server answers with an error; its text is in the log.
///   - `error::tls_refused`, `error::wrong_topology` — the server does not fit `config::tls` or
///     `config::topology`.
///   - `error::bad_reply` — the answer is none that the script gives: the address is not that of a
///     Redis or Valkey server, or something between changes its answers.
///   - `error::not_replicated`, `error::unsupported` — only if the options or the config ask
///     for copies (`durability`): too few have the step in time, and it is undone, but for what
///     `try_set_permits`, `try_set_count` or `drain` did; or they can never be had. `acquire` and
///     `try_acquire_for` try again after the first of them.
/// \par Executor
///   A handler runs on its associated executor, or on the client's if it has none; never inline,
///   and never on the client's strand. Renewals, notices of loss, time limits and releases in the
///   background run on the execution context: while none of its threads is free, nothing is renewed
///   and nobody hears of a loss. So do not block all of them, and look at `hold::valid_for()` after
///   a long computation.
/// \par Handles
///   A lock, a semaphore, a latch or an election is a handle: a name, and a share in the client's
///   state. All kinds share the server's keys, so a name is for one kind alone
///   (`error::wrong_type`); colock's own keys begin with `colock_` or `redisson_`, and names that
///   begin so may damage other locks. Handles are immutable, so distinct and shared ones are safe,
///   from any thread. An
///   operation keeps alive what it needs, so a handle may be destroyed while its operation is
///   pending. A handle that was moved from has no name: `error::invalid_argument`. A handle may
///   outlive the client (its operations end with `error::closed` then), but not the execution
///   context.
/// \par Thread-safety
///   Safe: all members but the destructor may be called on a shared object from any thread.
/// \par Lifetimes
///   Destroy it before its execution context. Do not use it in a forked child: that would be a
///   second process with the same identity.
class client {
public:
    /// The executor of handlers that have no associated executor.
    using executor_type = boost::asio::any_io_executor;

    /// Makes a client. It opens no connection before the first operation or `run()`.
    ///
    /// \par Preconditions
    ///   The executor is that of an `io_context`, a `thread_pool` or another execution context that
    ///   outlives the client. A strand is fine too.
    explicit client(boost::asio::any_io_executor executor, config settings = {});

    /// Operations that wait end with `error::closed`, and so do later operations on its locks.
    /// Releases that are already due are still sent: of holds that were destroyed or released
    /// before the client, and of acquires that are granted too late. For these the connections stay
    /// open, while the execution context runs, until the server has answered, for at most
    /// `config::timeout` (or `config::close_timeout` if that is shorter). The log names the
    /// releases that are unanswered then. If nothing is due, the connections are dropped at once.
    ///
    /// Holds that outlive the client are not released: they are lost when their leases end. Nothing
    /// is sent if the context no longer runs. `close()` reports how the end went.
    ~client();

    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// The executor that the client was made with; never its strand.
    executor_type get_executor() const noexcept { return detail::executor_of(core_); }

    /// The client's id, a UUID: the first part of every field that its holds have in Redis, as
    /// `<id>:<number>`. `colock info` shows it as the holder. Write it to your log at the start,
    /// and an operator finds the process that holds a lock. It never changes.
    std::string const& id() const noexcept;

    /// Connects now, and keeps the connections up while nothing needs them. Use it to find a bad
    /// config before the first operation, to have the connections ready, or to wait for the
    /// client's end.
    ///
    /// With or without `run()`, the client keeps connections up while something needs them. After a
    /// loss it reconnects, restores the subscriptions, wakes the waiters and confirms the holds.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   After `stop()`, `close()` or the destructor, without an error. Never because of a
    ///   connection.
    /// \par Errors
    ///   - `error::invalid_argument` — the config breaks a rule; the log says which. Other
    ///     operations say `error::invalid_config`.
    ///   - `error::invalid_tls` — a file of `config::tls` can't be used; the log says which one,
    ///     and why.
    ///   - `error::closed` — `close()` was called before.
    ///   - `boost::asio::error::already_started` — another `run()` has not completed.
    /// \par Cancellation
    ///   terminal, partial, total: does what `stop()` does, and completes with `operation_aborted`.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto run(Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            "run", core_, &detail::client_run, std::forward<Token>(token)
        );
    }

    /// Ends the client in order: refuses new work, ends the waiters with `error::closed`, releases
    /// all locks, waits for the server's answers, and then ends `run()`. It also releases holds
    /// that their owners still have; `hold::lost()` tells these owners. It waits for living
    /// `permit_guard`s, because nothing can tell their owners, and for the work of `with_permits`.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   - success — everything is released, or its lease is over.
    ///   - `error::unavailable` — the server refused some release or did not answer it within
    ///     `config::close_timeout`, or a lock is still held from before a `stop()`. Those locks are
    ///     free when their leases end. Or a `permit_guard` still has permits after that time; they
    ///     are out for good.
    ///   - `error::closed` — the client was closed before, or was stopped before everything was
    ///     released.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait; closing goes on.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto close(Token&& token = {})
    {
        return detail::initiate<detail::finished>(
            "close", core_, &detail::client_close, std::forward<Token>(token)
        );
    }

    /// Sends PING over one of the command connections.
    ///
    /// \par Completion signature
    ///   `void(error_code, std::chrono::microseconds)`; the time from just before the command was
    ///   written until its answer.
    /// \par Errors
    ///   - those of every operation
    ///   - `error::unavailable` — no answer within `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the waiting.
    template <detail::token_for<detail::pinged> Token = detail::default_token>
    auto ping(Token&& token = {}) const
    {
        return detail::initiate<detail::pinged>(
            "ping", core_, &detail::client_ping, std::forward<Token>(token)
        );
    }

    /// Tells who holds the lock, permit semaphore or read-write lock of this name, and how many
    /// wait; of a semaphore or a latch, its number.
    ///
    /// \par Effects
    ///   Some commands that read, two round trips. They are not one step for the server, so the
    ///   picture may be blurred while the lock changes hands; and it may be out of date when it
    ///   arrives. Nothing may be decided by it.
    /// \par Completion signature
    ///   `void(error_code, lock_info)`
    /// \par Errors
    ///   - `error::invalid_argument` — a bad name.
    ///   - `error::wrong_type` — the key holds something that is none of these. Choose another
    ///     name.
    ///   - `error::server_refused` — the user may not read the key: it needs HSCAN and PTTL.
    ///   - `error::closed`; `error::unavailable` after `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait.
    template <detail::token_for<detail::inspected> Token = detail::default_token>
    auto inspect(std::string name, Token&& token = {}) const
    {
        return detail::initiate<detail::inspected>(
            "inspect", core_, &detail::client_inspect, std::forward<Token>(token), std::move(name)
        );
    }

    /// Takes over the lock of a claim that its holder has given away; see `claim.hpp`. The hold
    /// belongs to this client from now on, and is renewed as any other. The client needs the
    /// giver's server, database and `key_prefix`.
    ///
    /// \par Effects
    ///   `scripts/adopt.lua`, one round trip: it replaces the giver's field by a new one, sets the
    ///   lease of the options, and draws a new fencing token, so that a late write of the giver is
    ///   refused.
    /// \par Completion signature
    ///   `void(error_code, hold)`; the hold is empty if and only if there is an error.
    /// \par Completes when
    ///   The server has answered, or after `config::timeout`.
    /// \par Errors
    ///   - `error::claim_gone` — somebody has adopted the claim before, or its lease has ended.
    ///     Acquire the lock as usual.
    ///   - `error::invalid_argument` — the claim has no valid kind, name or field, or the options
    ///     break a rule of `acquire`. Nothing was sent.
    ///   - `error::wrong_type` — the key does not hold a lock.
    ///   - `error::server_refused` — the server refuses the script; the claim is still good.
    ///   - `error::closed`; `error::unavailable` after `config::timeout`. The claim may be used up,
    ///     as after a cancellation.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted`. If nothing was sent
    ///   yet, the claim is still good. Otherwise it may be used up: the client then releases the
    ///   lock in the background.
    template <class Options = acquire_options, class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, detail::adopted>
    auto adopt(claim what, Options&& options = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::adopted, acquire_options>(
            "adopt",
            core_,
            &detail::adopt_claim,
            std::forward<Options>(options),
            std::forward<Token>(token),
            std::move(what)
        );
    }

    /// Ends the client at once.
    ///
    /// \par Effects
    ///   Drops the connections. Waiters end with `error::closed`, and so do later operations until
    ///   `run()` is called again. Commands that were written before may still take effect at the
    ///   server. Holds are lost when their time comes, and their locks are free when their leases
    ///   end.
    /// \par Thread-safety
    ///   From any thread. It returns before the effects are complete.
    void stop();

    /// The client's state a moment ago. Cheap, from any thread.
    client_stats stats() const;

private:
    friend class countdown_latch;
    template <class>
    friend class basic_lock;
    friend class election;
    friend class permit_semaphore;
    friend class semaphore;
    friend struct detail::client_access;
    friend detail::core_ptr const& detail::core_of(client const&) noexcept;
    explicit client(detail::core_ptr inside) noexcept : core_{std::move(inside)} {}

    detail::core_ptr core_;
};

inline detail::core_ptr const& detail::core_of(client const& of) noexcept { return of.core_; }

}  // namespace v0_3
}  // namespace colock
