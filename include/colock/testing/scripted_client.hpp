// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// A real `colock::client` with a simulated server that the test controls: no Redis, no socket, no
/// waiting.
///
/// The code under test is the same as in production: it takes a `colock::client&`, makes real locks
/// on it and gets real holds, real loss notices and real errors. Only the server is a double, and
/// the test tells it what happens:
///
///     using colock::testing::scripted_client;
///
///     scripted_client redis;
///     redis.run(pay(redis, "7"));                   // nobody else wants it: granted
///     BOOST_TEST(redis.times_acquired("order:7") == 1);
///     BOOST_TEST(!redis.is_held("order:7"));        // and given back
///
///     redis.occupy("order:7");                      // somebody else has it, for good
///     BOOST_TEST(!redis.run(try_to_pay(redis, "7")));
///
///     redis.occupy("order:7", 500ms);               // ... and gives it back in half a second
///     redis.run(pay(redis, "7"));                   // waits, and gets it
///
/// To let something happen in the middle of a critical section, call the double from there, in the
/// place of the resource:
///
///     auto charge = [&](std::string) -> asio::awaitable<void> {
///         redis.lose("order:7");                    // forced, deleted, flushed
///         co_await something_long();                // with_lock cancels it
///     };
///
/// \par Time
///   While the code waits for a lock of somebody else, for a server that is down, or for leases to
///   run out, `run()` makes colock's clock jump: a wait of a minute ends within a millisecond, with
///   all renewals of that minute. Otherwise that clock goes like the real one: also while a
///   `red_lock` without a quorum pauses between its rounds, while a group lock waits at another
///   double than the one that runs it, and while an observer of an election waits for a change. Use
///   `run_for` there. Your own timers, including `asio::cancel_after`, keep real time. The whole
///   process has one such clock, and it never goes back: when it jumps, clients on real servers in
///   the same process lose their holds. Use `hold::valid_for`; do not compare `valid_until()` with
///   another clock.
/// \par What is covered
///   lock, fair_lock, spin_lock, fenced_lock, both sides of read_write_lock, multi_lock, red_lock
///   (several doubles on one context act as several servers), with_lock, semaphore,
///   permit_semaphore, countdown_latch and election. The simulated server runs the scripts that
///   Redis runs, and is healthy. The double does not have: `client::inspect`, the report of
///   `config::label`, other readers, replicas (each `durability` succeeds), Sentinel and clusters,
///   full memory, permissions other than `refuse`. Fencing tokens begin at 1.
/// \par Thread-safety
///   None: use it, and the code under test, on the thread that runs the context.
/// \par Lifetimes
///   Locks and holds must not outlive the context. They may outlive the double, whose client is
///   destroyed like any client.
class scripted_client {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The settings of a client that logs nothing.
    static config quiet();

    /// A double with its own context.
    explicit scripted_client(config settings = quiet());

    /// A double on the context of the test.
    explicit scripted_client(boost::asio::io_context&, config settings = quiet());

    ~scripted_client();
    scripted_client(scripted_client const&) = delete;
    scripted_client& operator=(scripted_client const&) = delete;

    /// The client for the code under test. It already runs: `client::run` fails with
    /// `already_started`.
    colock::client& client() noexcept;
    operator colock::client&() noexcept { return client(); }

    boost::asio::io_context& context() noexcept;
    boost::asio::io_context::executor_type get_executor() noexcept;

    // ---- Who has what --------------------------------------------------------------------------
    // A name is the name of a lock, a semaphore or a latch. All names are free at first.

    /// Somebody else has it until `vacate`: a semaphore has no permit, and a latch does not open.
    /// If the code under test has a hold on it, that hold is lost, as by `lose`.
    void occupy(std::string const& name);

    /// Somebody else has it for `how_long`, by colock's clock, and then gives it back.
    void occupy(std::string const& name, milliseconds how_long);

    /// Somebody else gives it back; its waiters are told.
    void vacate(std::string const& name);

    /// The hold of the code under test is gone: forced, deleted or flushed. A renewed hold learns
    /// of it at once: `lost()` completes, the stop token is stopped, and `with_lock` cancels its
    /// work. A hold that is not renewed, because the caller gave a lease, learns of it at the end
    /// of the lease, as in production.
    void lose(std::string const& name);

    /// The server does not answer until all leases have run out, so all holds are lost by the
    /// clock. Then it answers again, and has forgotten them.
    void let_leases_run_out();

    // ---- The server ----------------------------------------------------------------------------

    /// There is no connection until `connect()`. Waits go on; single attempts and all other
    /// operations end with `error::unavailable` after `config::timeout`.
    void disconnect();
    void connect();

    /// The server refuses all requests for this name, with `error::server_refused`, until `accept`.
    void refuse(std::string const& name);
    void accept(std::string const& name);

    // ---- Running -------------------------------------------------------------------------------

    /// Runs a coroutine to its end, and the work that it left in the background. Returns its result
    /// or throws its exception.
    ///
    /// \throws std::runtime_error if it has not ended after the run timeout, or after an hour of
    /// colock's clock. The text says what it waits for.
    template <class T>
    T run(boost::asio::awaitable<T> work)
    {
        struct outcome {
            bool done = false;
            std::exception_ptr thrown;
            std::optional<T> value;
        };
        auto const is = std::make_shared<outcome>();
        boost::asio::co_spawn(context(), std::move(work), [is](std::exception_ptr thrown, T value) {
            is->done = true;
            is->thrown = thrown;
            if (!thrown)
                is->value.emplace(std::move(value));
        });
        run_until([is] { return is->done; });
        if (is->thrown)
            std::rethrow_exception(is->thrown);
        return std::move(*is->value);
    }

    void run(boost::asio::awaitable<void> work);

    /// Runs the context until `is_so` returns true, which it checks between handlers, and then all
    /// handlers that are ready. Throws as `run`, and the exception of a handler. If a handler stops
    /// the context, it runs on.
    void run_until(std::function<bool()> const& is_so);

    /// Runs the context while this much of colock's time passes; its clock jumps.
    void run_for(milliseconds);

    /// Moves colock's clock at once and runs nothing, as if the process had been stopped for that
    /// long. A hold whose validity has passed is false at once; `lost()` completes when the context
    /// runs.
    void freeze(milliseconds);

    /// How much real time each `run`, `run_until` and `run_for` of all doubles in the process may
    /// take: 10 s unless set. Under a debugger, where breakpoints count too, or under valgrind, set
    /// more at the beginning of the program; `milliseconds::max()` is no limit. May be called on
    /// any thread.
    static void set_run_timeout(milliseconds) noexcept;

    // ---- Checks --------------------------------------------------------------------------------

    /// Whether the code under test holds it at the server.
    bool is_held(std::string const& name) const;

    /// The names that it holds there. Empty when it has given everything back.
    std::vector<std::string> held() const;

    /// How many calls are waiting, for any name.
    std::size_t waiters() const;

    // How often, since the beginning; for a latch, how often a wait for it succeeded.
    std::size_t times_acquired(std::string_view name) const;
    std::size_t times_released(std::string_view name) const;
    std::size_t times_lost(std::string_view name) const;

private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
