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

/// Releases, and leaves a failure to the log and the lease.
asio::awaitable<void> release_after_work(hold& held);

template <class Work>
using work_result = typename std::invoke_result_t<Work&, hold&>::value_type;

}  // namespace detail

/// Runs `work(hold&)`, a coroutine, under the lock: acquires it, cancels the work (terminal) when
/// the hold is lost, and releases it on every way out.
///
/// \par Effects
///   Those of `lock::acquire` and `hold::release`. The work runs on the calling coroutine's
///   executor.
/// \par Returns
///   What `work` returns.
/// \par Throws
///   - `boost::system::system_error` with `error::lost` — the hold was lost while the work ran;
///     the work has ended, cancelled or not, and what it returned or threw is dropped.
///   - the same with `error::closed` — the client was closed while the work ran.
///   - what `work` throws; the errors of `acquire`.
///   A failing release is not thrown: what the work did, it did under the lock.
/// \par Cancellation
///   Passed on to the acquire, or to the work; the release then goes on in the background.
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
