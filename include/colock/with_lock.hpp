// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/diagnostics.hpp>
#include <colock/error.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v0_3 {

namespace detail {

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

/// Runs `work` on a strand of the calling coroutine's executor until it ends, or until the hold is
/// lost, which cancels it. Throws what the work throws, `error::lost` after a loss, and
/// `error::closed` when the client was closed under the work. `doing` is what the exceptions say.
asio::awaitable<void> run_while_held(
    basic_hold& held, asio::awaitable<void> work, std::string doing
);

/// Throws `error::lost`, `closed` or `not_held` if the hold is over.
asio::awaitable<void> expect_held(basic_hold& held, std::string doing);

/// Whether a loss that only the release finds is thrown. It is in the log in any case.
enum class late_loss : char { thrown, logged };

/// The error of a release, and its text.
struct release_answer {
    error_code ec{};
    diagnostics said{};
};

/// Releases the hold. Throws `error::lost` if the server no longer had the lock while the hold was
/// valid, and that is to be thrown. Another failure goes to the log; the lock is then free when its
/// lease ends. `answer` gets the error of the release, and its text.
asio::awaitable<void> release_after_work(
    basic_hold& held, std::string doing, late_loss, release_answer* answer = nullptr
);

/// The result of work that is called with `Held&` or with nothing. No work: a plain sentence.
template <class Work, class Held>
struct work_of {
    static constexpr bool takes_held = std::is_invocable_v<Work&, Held&>;
    static_assert(
        takes_held || std::is_invocable_v<Work&>,
        "colock: the work takes a reference to what is held, or nothing: "
        "[](colock::hold& held) -> boost::asio::awaitable<void> { ... }"
    );

    template <class Result>
    struct of {
        static_assert(
            std::is_void_v<Result> && !std::is_void_v<Result>,
            "colock: the work is a coroutine that returns boost::asio::awaitable<T>"
        );
        using type = void;
    };
    template <class T, class Executor>
    struct of<asio::awaitable<T, Executor>> {
        using type = T;
    };
    struct no_work {};

    static auto returned()
    {
        if constexpr (takes_held)
            return std::type_identity<std::invoke_result_t<Work&, Held&>>{};
        else if constexpr (std::is_invocable_v<Work&>)
            return std::type_identity<std::invoke_result_t<Work&>>{};
        else
            return std::type_identity<asio::awaitable<void>>{};
    }
    using result = typename of<typename decltype(returned())::type>::type;
};

template <class Work, class Held>
using work_result = typename work_of<Work, Held>::result;

/// Calls the work, which may not want to know what is held.
template <class Work, class Held>
auto begin_work(Work& work, Held& held)
{
    if constexpr (work_of<Work, Held>::takes_held)
        return work(held);
    else
        return work();
}

/// The type of `with_lock_for`: a bool says whether work without a result was run.
template <class Result>
using if_run = std::conditional_t<std::is_void_v<Result>, bool, std::optional<Result>>;

/// The result of work under such a lock.
template <class Lock, class Work>
using result_under = work_result<Work, typename Lock::hold_type>;

/// Runs the work; `held` outlives it.
template <class Held, class Work>
asio::awaitable<work_result<Work, Held>> run_guarded(Held& held, Work& work, std::string doing)
{
    if constexpr (std::is_void_v<work_result<Work, Held>>) {
        co_await run_while_held(held, begin_work(work, held), std::move(doing));
    } else {
        std::optional<work_result<Work, Held>> result;
        auto keep = [&]() -> asio::awaitable<void> {
            result.emplace(co_await begin_work(work, held));
        };
        co_await run_while_held(held, keep(), std::move(doing));
        co_return std::move(*result);
    }
}

/// Each await of a cancelled coroutine throws, which would drop the result of work that has ended
/// nevertheless. So a cancelled coroutine leaves the release to the destructor.
inline bool may_await(asio::cancellation_state const& mine) noexcept
{
    return mine.cancelled() == asio::cancellation_type::none;
}

/// As above, and releases `held` after the work.
template <class Held, class Work>
asio::awaitable<work_result<Work, Held>> run_and_release(
    Held& held, Work& work, std::string doing, late_loss is = late_loss::thrown
)
{
    if constexpr (std::is_void_v<work_result<Work, Held>>) {
        co_await run_guarded(held, work, doing);
        auto const mine = co_await asio::this_coro::cancellation_state;
        if (may_await(mine))
            co_await release_after_work(held, std::move(doing), is);
    } else {
        auto result = co_await run_guarded(held, work, doing);
        auto const mine = co_await asio::this_coro::cancellation_state;
        if (may_await(mine))
            co_await release_after_work(held, std::move(doing), is);
        co_return result;
    }
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace detail

/// Runs the coroutine `work(hold&)`, or `work()`, under the lock (of a group `work(group_hold&)`,
/// of permits `work(permit&)`): acquires the lock, cancels the work (terminal) if the hold is lost,
/// and releases the lock on every way out.
///
/// \par Effects
///   As `lock::acquire` and `hold::release`. The work runs on a strand of the calling coroutine's
///   executor, so that a loss can cancel it also where that executor is a pool of threads.
/// \par Returns
///   The result of `work`.
/// \par Throws
///   - `boost::system::system_error` with `error::lost` — the hold was lost while the work ran,
///   also
///     if only the release found it (the key was deleted or forced, or the server lost it). The
///     work has ended, cancelled or not, and another owner may have had the lock meanwhile. The
///     result of the work is dropped; so is its exception, unless only a release would have found
///     the loss.
///   - the same with `error::closed` — the client was closed while the work ran.
///   - the same with an error of `acquire`.
///   - the exceptions of `work`.
///   The text of the first three names the lock, and of a refusal it has the server's words. Any
///   other failure of the release is not thrown, because the work was done under the lock.
/// \par Cancellation
///   Passed on to the acquire or to the work; the release then goes on in the background. Work that
///   ends without an exception nevertheless has done its part: its result is returned.
/// \par Lifetimes
///   The lock and the work are copied into the coroutine.
template <class Lock, class Work>
boost::asio::awaitable<detail::result_under<Lock, Work>> with_lock(
    Lock lock, acquire_options options, Work work
)
{
    auto held = co_await lock.acquire(options);
    co_return co_await detail::run_and_release(held, work, "with_lock " + lock.name());
}

/// As above, with default options.
template <class Lock, class Work>
boost::asio::awaitable<detail::result_under<Lock, Work>> with_lock(Lock lock, Work work)
{
    return with_lock(std::move(lock), acquire_options{}, std::move(work));
}

/// As `with_lock`, but waits at most `wait` for the lock; zero tries once. The limit is for the
/// lock alone: the work takes as long as it takes.
///
/// \par Returns
///   The result of `work` in an optional, which is empty if the wait ran out; for work without a
///   result, whether it was run.
/// \par Throws
///   As `with_lock`, with the errors of `try_acquire_for`.
/// \par Effects, cancellation and lifetimes
///   As `with_lock`.
template <class Lock, class Rep, class Period, class Work>
[[nodiscard]] boost::asio::awaitable<detail::if_run<detail::result_under<Lock, Work>>>
with_lock_for(
    Lock lock, std::chrono::duration<Rep, Period> wait, acquire_options options, Work work
)
{
    auto held = co_await lock.try_acquire_for(wait, options);
    using result = detail::if_run<detail::result_under<Lock, Work>>;
    if (!held)
        co_return result{};
    auto doing = "with_lock_for " + lock.name();
    if constexpr (std::is_void_v<detail::result_under<Lock, Work>>) {
        co_await detail::run_and_release(*held, work, std::move(doing));
        co_return true;
    } else {
        auto got = co_await detail::run_and_release(*held, work, std::move(doing));
        co_return result(std::move(got));
    }
}

/// As above, with default options.
template <class Lock, class Rep, class Period, class Work>
[[nodiscard]] boost::asio::awaitable<detail::if_run<detail::result_under<Lock, Work>>>
with_lock_for(Lock lock, std::chrono::duration<Rep, Period> wait, Work work)
{
    return with_lock_for(std::move(lock), wait, acquire_options{}, std::move(work));
}

/// Runs the coroutine `work(hold&)`, or `work()`, under a lock that is held already, and cancels it
/// (terminal) if the hold is lost. The hold stays with the caller: `guard` does not release it.
///
/// It is the part of `with_lock` after the acquire, and the work runs as there. Prefer it to `work
/// || held.lost()` of Asio's awaitable operators: there, work that throws leaves the caller waiting
/// for a loss that does not come, and a client that closes does not end the work.
///
/// \par Returns
///   The result of `work`.
/// \par Throws
///   - `boost::system::system_error` with `error::lost` — the hold is lost: before the work, which
///     is then not begun, or while it ran. Its result or exception is dropped.
///   - the same with `error::closed` — the client was closed while the work ran.
///   - the same with `error::not_held` — the hold is empty, moved from or released; the work is not
///     begun.
///   - the exceptions of `work`.
///   The text of the first three names the lock.
/// \par Cancellation
///   Passed on to the work.
/// \par Preconditions
///   `held` outlives the coroutine, and nobody moves from it meanwhile.
/// \par Lifetimes
///   The work is copied into the coroutine.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
template <std::derived_from<basic_hold> Held, class Work>
boost::asio::awaitable<detail::work_result<Work, Held>> guard(Held& held, Work work)
{
    co_await detail::expect_held(held, "guard " + held.name());
    co_return co_await detail::run_guarded(held, work, "guard " + held.name());
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace v0_3
}  // namespace colock
