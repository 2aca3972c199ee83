// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/error.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/system_error.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {

namespace detail {

/// Runs `work` on the calling coroutine's executor until it ends, or until the hold is lost, which
/// cancels it. Throws what the work throws, `error::lost` after a loss, and `error::closed` when
/// the client was closed under the work.
asio::awaitable<void> run_while_held(hold& held, asio::awaitable<void> work, std::string name);

/// Releases the hold. A failure goes to the log; the lock is then free when its lease ends.
asio::awaitable<void> release_after_work(hold& held);

template <class Work>
using work_result = typename std::invoke_result_t<Work&, hold&>::value_type;

}  // namespace detail

/// Runs the coroutine `work(hold&)` under the lock: acquires the lock, cancels the work (terminal)
/// if the hold is lost, and releases the lock on every way out.
///
/// \par Effects
///   As `lock::acquire` and `hold::release`. The work runs on the calling coroutine's executor.
/// \par Returns
///   The result of `work`.
/// \par Throws
///   - `boost::system::system_error` with `error::lost` — the hold was lost while the work ran. The
///     work has ended, cancelled or not; its result or exception is dropped.
///   - the same with `error::closed` — the client was closed while the work ran.
///   - the exceptions of `work`, and the errors of `acquire`.
///   A failed release is not thrown, because the work was done under the lock.
/// \par Cancellation
///   Passed on to the acquire or to the work; the release then goes on in the background.
/// \par Lifetimes
///   The lock and the work are copied into the coroutine.
template <class Lock, class Work>
boost::asio::awaitable<detail::work_result<Work>> with_lock(
    Lock lock, acquire_options options, Work work
)
{
    hold held = co_await lock.acquire(options, boost::asio::deferred);
    if constexpr (std::is_void_v<detail::work_result<Work>>) {
        co_await detail::run_while_held(held, work(held), lock.name());
        co_await detail::release_after_work(held);
    } else {
        std::optional<detail::work_result<Work>> result;
        auto keep = [&]() -> boost::asio::awaitable<void> { result.emplace(co_await work(held)); };
        co_await detail::run_while_held(held, keep(), lock.name());
        co_await detail::release_after_work(held);
        co_return std::move(*result);
    }
}

/// As above, with default options.
template <class Lock, class Work>
boost::asio::awaitable<detail::work_result<Work>> with_lock(Lock lock, Work work)
{
    return with_lock(std::move(lock), acquire_options{}, std::move(work));
}

}  // namespace colock
