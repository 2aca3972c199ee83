// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/hold.hpp>
#include <colock/lock.hpp>
#include <colock/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

/// For threads that wait, without coroutines: `std::unique_lock` and its sisters take a `mutex`,
/// and every other operation takes the token `wait`.
namespace colock {
inline namespace v0_3 {
namespace blocking {

/// The type of `wait`.
struct wait_t {};

/// A completion token: the calling thread waits for the operation, and gets its result.
///
///     colock::blocking::client redis{settings};
///     colock::permit_semaphore const seats{redis.async(), "seats", 5};
///     colock::permit seat = seats.acquire(colock::blocking::wait);
///
/// It works with each operation that takes a token: of semaphores, permits, both sides of a
/// read-write lock, latches, holds, `client::inspect` and all others. For those of an `election`,
/// which are coroutines, there is `run`.
///
/// \throws boost::system::system_error with the errors of the operation, and with
///   `error::would_deadlock` on a thread that serves the client, because the thread would wait for
///   itself. Nothing was sent then. That is known of a client on Asio's `io_context` or
///   `thread_pool`; on another context such a call never returns
inline constexpr wait_t wait{};

namespace detail {

/// Throws `error::would_deadlock` if this thread serves the executor.
void expect_other_thread(boost::asio::any_io_executor const&);

template <class... Values>
auto single(std::tuple<Values...> values)
{
    if constexpr (sizeof...(Values) == 1)
        return std::get<0>(std::move(values));
    else if constexpr (sizeof...(Values) > 1)
        return values;
}

/// Begins the operation with a handler, and waits until that is called. The thread that calls it
/// keeps nothing of the answer, so an exception is destroyed where it is caught.
template <class... Values, class Begin>
std::tuple<Values...> wait_for(Begin&& begin)
{
    std::exception_ptr failure;
    std::optional<std::tuple<Values...>> answer;
    std::promise<void> told;
    auto is_told = told.get_future();
    auto tell = [&failure,
                 &answer,
                 told = std::move(told)](std::exception_ptr thrown, Values... values) mutable {
        failure = std::move(thrown);
        if (!failure)
            answer.emplace(std::move(values)...);
        told.set_value();
    };
    std::forward<Begin>(begin)(std::move(tell));
    is_told.get();
    if (failure)
        std::rethrow_exception(std::move(failure));
    return std::move(*answer);
}

template <class... Values>
struct waiting {
    template <class Initiation, class... Arguments>
    static auto initiate(Initiation&& initiation, wait_t, Arguments&&... arguments)
    {
        if constexpr (requires { initiation.get_executor(); })
            expect_other_thread(initiation.get_executor());
        return single(wait_for<Values...>([&](auto handler) {
            std::forward<Initiation>(initiation)(
                std::move(handler), std::forward<Arguments>(arguments)...
            );
        }));
    }
};

}  // namespace detail

/// A client for threads: a `colock::client`, and a thread that serves it.
///
/// \par Thread-safety
///   Safe: all members but the destructor may be called on a shared object from any thread.
class client {
public:
    /// Makes its own client and its own thread, which serves that client. Opens no connection
    /// before the first operation.
    explicit client(config settings = {});

    /// Uses a client that the program has already. Other threads have to run its execution context
    /// meanwhile. It must outlive this.
    explicit client(colock::client& shared);

    /// Closes its own client, as `close` does, but throws nothing: a failure goes to the log. Does
    /// nothing to a shared client. Do not call it on a thread that serves the client.
    ~client();

    client(client const&) = delete;
    client& operator=(client const&) = delete;

    /// The client itself, for everything that is not here.
    colock::client& async() noexcept { return *used_; }

    /// Ends the client in order, and waits for that: `colock::client::close`.
    ///
    /// \throws boost::system::system_error with the errors of `colock::client::close`, and with
    ///   `error::would_deadlock` on a thread that serves the client
    void close();

private:
    struct own_client;

    std::unique_ptr<own_client> own_;
    colock::client* used_;
};

/// Runs a coroutine on the client's executor, and waits for its result:
/// `run(redis, office.campaign("10.0.0.1"))` gives a `leadership`.
///
/// \throws what the coroutine throws, and `error::would_deadlock` as with `wait`
template <class T>
T run(client& where, boost::asio::awaitable<T> work)
{
    return boost::asio::co_spawn(where.async().get_executor(), std::move(work), wait);
}

/// A mutex that all processes share: a lock of any kind, whose hold belongs to the thread that has
/// locked it. It is *Lockable* and *TimedLockable*, so `std::lock_guard`, `std::unique_lock` and
/// `std::scoped_lock` take it. The threads of a process may share one object, as they share a
/// `std::timed_mutex`.
///
/// \par Guarantees
///   As for the lock that it is made from. Unlike a `std::mutex`, the lock can be lost: ask
///   `held().valid_for(…)` before a write that can't be undone, or give the resource
///   `held().fencing_token()`. An `unlock` after a loss releases nothing of the next holder, also
///   if that is another thread with the same object. Each `lock` has an owner of its own:
///   `acquire_options::as` is not used, because threads with one owner would not exclude each
///   other.
/// \par Exceptions
///   `lock`, the `try_lock` functions and `release` throw `boost::system::system_error`. `lock` has
///   the errors of `colock::lock::acquire`, the `try_lock` functions have those of
///   `colock::lock::try_acquire_for`, and `release` those of `hold::release`. On a thread that
///   serves the client each of them throws `error::would_deadlock`, because the thread would wait
///   for itself. If the calling thread has the lock already, `lock` throws `error::would_deadlock`,
///   and the `try_lock` functions return false. The text names the lock.
/// \par Thread-safety
///   Safe, but for the destructor. `unlock` and `held` concern the calling thread.
/// \par Lifetimes
///   It must not outlive its client. Its destructor releases in the background what is still held.
class mutex {
    using any_lock = basic_lock<colock::detail::lock_id>;

public:
    /// The `colock::lock` of that name. Sends nothing.
    mutex(client& where, std::string name, acquire_options options = {})
        : mutex{where, colock::lock{where.async(), std::move(name)}, options}
    {}

    /// A lock of any kind of that client: `mutex{c, fair_lock{c.async(), "printer"}}`.
    template <std::derived_from<basic_lock<colock::detail::lock_id>> Lock>
    mutex(client& where, Lock const& of, acquire_options options = {})
        : of_{of}
        , options_{options}
        , executor_{where.async().get_executor()}
    {
        options_.as.reset();
    }

    mutex(mutex const&) = delete;
    mutex& operator=(mutex const&) = delete;

    std::string const& name() const noexcept { return of_.name(); }

    /// Waits until this thread has the lock. `client::close` ends the wait with `error::closed`.
    /// Throws `error::would_deadlock` if this thread has the lock already.
    void lock();

    /// Tries once. False if somebody else or this thread has the lock.
    bool try_lock();

    /// Waits at most that long. False if the wait ran out. False at once if this thread has the
    /// lock.
    template <class Rep, class Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> longest)
    {
        using limit = std::chrono::milliseconds;
        return try_lock_within(std::max(limit{0}, colock::detail::round_up<limit>(longest)));
    }

    /// Waits until that moment at most.
    template <class Clock, class Duration>
    bool try_lock_until(std::chrono::time_point<Clock, Duration> until)
    {
        return try_lock_for(colock::detail::time_until(until));
    }

    /// Releases the hold of this thread, and waits for the server's answer, at most
    /// `config::timeout`. Does nothing if this thread has no hold.
    ///
    /// Throws nothing: a failure goes to the log, and the lock is then free when its lease ends. On
    /// a thread that serves the client it does not wait.
    void unlock() noexcept;

    /// As `unlock`, but reports a failure.
    ///
    /// \throws boost::system::system_error with the errors of `hold::release`: `error::lost` if
    ///   somebody else may have had the lock meanwhile, `error::not_held` if this thread has no
    ///   hold. On a thread that serves the client it throws `error::would_deadlock`, and the thread
    ///   keeps its hold.
    void release();

    /// The hold of this thread; an empty one if it has none. Valid until this thread unlocks.
    hold const& held() const;

private:
    bool try_lock_within(std::chrono::milliseconds longest);
    bool has_it() const;
    void expect_other_thread(char const* doing) const;
    void keep(hold taken);
    hold take_out();

    any_lock of_;
    acquire_options options_;
    boost::asio::any_io_executor executor_;
    mutable std::mutex mutex_;
    std::map<std::thread::id, hold> held_;
};

}  // namespace blocking
}  // namespace v0_3
}  // namespace colock

template <class... Values>
struct boost::asio::async_result<colock::blocking::wait_t, void(std::exception_ptr, Values...)> :
    colock::blocking::detail::waiting<Values...> {};

template <class... Values>
struct boost::asio::async_result<colock::blocking::wait_t, void(colock::error_code, Values...)> {
    template <class Initiation, class... Arguments>
    static auto initiate(
        Initiation&& initiation, colock::blocking::wait_t wait, Arguments&&... arguments
    )
    {
        return colock::detail::initiate_with<void(std::exception_ptr, Values...)>(
            colock::detail::as_exception{},
            std::forward<Initiation>(initiation),
            wait,
            std::forward<Arguments>(arguments)...
        );
    }
};
