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

namespace colock::testing {

/// A real `colock::client` whose server is in the test's hand: no Redis, no socket, no waiting.
///
/// The code under test is what runs in production: it takes a `colock::client&`, makes real locks
/// on it and gets real holds, real notices of loss, real errors. Only what answers is a double,
/// which the test tells what happens:
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
/// What happens in the middle of a critical section is said from there, by whatever stands for the
/// resource in the test:
///
///     auto charge = [&](std::string) -> asio::awaitable<void> {
///         redis.lose("order:7");                    // forced, deleted, flushed
///         co_await something_long();                // with_lock cancels it
///     };
///
/// \par Time
///   While the code waits for what somebody else has, for a server that is down, or for leases to
///   run out, `run()` lets colock's clock fly: a wait of a minute ends within a millisecond, with
///   the renewals that a minute has. Otherwise that clock goes as the real one. Your own timers,
///   `asio::cancel_after` among them, keep the real time. The clock is one for the process and
///   never goes back: while it flies, clients on real servers in the same process lose their holds.
///   Ask `hold::valid_for`, rather than compare `valid_until()` with a clock of your own.
/// \par What is covered
///   lock, fair_lock, spin_lock, fenced_lock, both sides of read_write_lock, multi_lock, red_lock
///   (of the double's locks; several doubles on one context stand for several servers), with_lock,
///   semaphore, permit_semaphore and countdown_latch. The double keeps to colock's protocol on one
///   healthy server. It does not have: other readers, replicas (`sync_replicas` succeeds), Sentinel
///   and clusters, full memory, permissions other than `refuse`. Fencing tokens begin at 1.
/// \par Thread-safety
///   None: all of it, and the code under test, on the thread that runs the context.
/// \par Lifetimes
///   Locks and holds must not outlive the context. The double may go before them: its client is
///   destroyed as any client.
class scripted_client {
public:
    using milliseconds = std::chrono::milliseconds;

    /// The settings of a client that logs nothing.
    static config quiet();

    /// A double with a context of its own.
    explicit scripted_client(config settings = quiet());

    /// A double on the context of the test.
    explicit scripted_client(boost::asio::io_context&, config settings = quiet());

    ~scripted_client();
    scripted_client(scripted_client const&) = delete;
    scripted_client& operator=(scripted_client const&) = delete;

    /// What the code under test is given. It runs already: `client::run` says `already_started`.
    colock::client& client() noexcept;
    operator colock::client&() noexcept { return client(); }

    boost::asio::io_context& context() noexcept;
    boost::asio::io_context::executor_type get_executor() noexcept;

    // ---- Who has what --------------------------------------------------------------------------
    // A name is that of a lock, a semaphore or a latch; one that is not mentioned is free.

    /// Somebody else has it until `vacate`. Of a semaphore or latch: there is no permit, and it
    /// does not open. A hold of the code under test on it is lost, as by `lose`.
    void occupy(std::string const& name);

    /// Somebody else has it for so long, by colock's clock, and then gives it back.
    void occupy(std::string const& name, milliseconds how_long);

    /// Somebody else gives it back: who waits for it is told.
    void vacate(std::string const& name);

    /// What the code under test holds there is gone: forced, deleted or flushed. A renewed hold
    /// learns of it at once: `lost()` completes, the stop token fires, `with_lock` cancels its
    /// work. (One with a lease of its own, which nobody renews, learns of it at the lease's end, as
    /// in production.)
    void lose(std::string const& name);

    /// The server answers nothing until each lease has run out: all holds are lost by the clock.
    /// Then it answers again, and has forgotten them.
    void let_leases_run_out();

    // ---- The server ----------------------------------------------------------------------------

    /// No connection, until `connect()`: waits go on, single attempts end with `why` after
    /// `config::timeout`, and so does all else.
    void disconnect(error_code why = error::unavailable);
    void connect();

    /// The server refuses what is asked about this name, with `error::server_refused`; until
    /// `accept`.
    void refuse(std::string const& name);
    void accept(std::string const& name);

    // ---- Running -------------------------------------------------------------------------------

    /// Runs a coroutine to its end, and what it has left in the background; returns its result or
    /// throws what it throws.
    ///
    /// \throws std::runtime_error when it has not ended after the run timeout, or after an hour of
    ///   colock's clock; the text says what it waits for.
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

    /// Runs the context until `is_so`, looked at between handlers; and then all that is ready.
    /// Throws as `run`, and what a handler throws; runs on when one stops the context.
    void run_until(std::function<bool()> const& is_so);

    /// Runs the context while so much of colock's time passes; it flies.
    void run_for(milliseconds);

    /// Moves colock's clock at once, and runs nothing: the process was stopped for so long. A hold
    /// whose validity has passed says so at once; `lost()` follows when the context runs.
    void freeze(milliseconds);

    /// How much real time each `run`, `run_until` and `run_for` may take, of all doubles in the
    /// process: 10 s unless set. Under a debugger, where a breakpoint takes of it as well, or
    /// valgrind, set more at the beginning of the program; `milliseconds::max()` is no limit.
    /// May be called on any thread.
    static void set_run_timeout(milliseconds) noexcept;

    // ---- Checks --------------------------------------------------------------------------------

    /// Whether the code under test holds it, at the server.
    bool is_held(std::string const& name) const;

    /// All that it holds there. Empty when all has been given back.
    std::vector<std::string> held() const;

    /// How many calls wait, for whatever.
    std::size_t waiters() const;

    // How often, since the beginning; of a lock, a semaphore or a latch that was waited for.
    std::size_t times_acquired(std::string_view name) const;
    std::size_t times_released(std::string_view name) const;
    std::size_t times_lost(std::string_view name) const;

private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

}  // namespace colock::testing
