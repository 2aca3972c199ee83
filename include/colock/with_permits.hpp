// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/semaphore.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v0_3 {

namespace detail {

class owed_permits;
using owed_ptr = std::shared_ptr<owed_permits>;
struct guard_access;

owed_ptr owe_permits(core_ptr, std::string name, std::int64_t permits);
std::int64_t count_owed(owed_ptr const&) noexcept;
core_ptr core_of(owed_ptr const&) noexcept;
short_name name_of_owed(owed_ptr const&) noexcept;
short_name name_of(owed_ptr const& owed, auto const&...) noexcept { return name_of_owed(owed); }
void give_owed_back(core_ptr, handler<finished>, owed_ptr);
void give_owed_back(owed_ptr const&) noexcept;
void owe(owed_ptr const&, std::int64_t permits) noexcept;

}  // namespace detail

/// Permits of a `semaphore` that are given back on every way out, because nobody else gives them
/// back. A guard, as `hold` is for a lock.
///
/// Move-only. It is empty when it is default-constructed, moved from or released.
///
/// \par Executor
///   A handler runs on its associated executor, or on the client's if it has none (for an empty
///   guard, on the system executor); never inline, and never on the client's strand.
/// \par Thread-safety
///   Distinct guards are safe, a shared one is not.
/// \par Lifetimes
///   A guard shares ownership of its client's state. It must not outlive the execution context.
///   `client::close()` waits for living guards, at most `config::close_timeout`. If the client is
///   stopped or destroyed before the guard, or its process dies, the permits are out for good, as
///   any permit of a `semaphore`; the log says so where it can.
class [[nodiscard]] permit_guard {
    friend struct detail::guard_access;

public:
    /// Empty.
    permit_guard() noexcept = default;

    /// Takes charge of permits that the caller has just acquired from `of`: 1 to 2^31-1. A client
    /// that is closed between the acquire and this does not know of them: `with_permits` has no
    /// such gap.
    permit_guard(semaphore const& of, std::int64_t permits)
        : owed_{detail::owe_permits(of.core_, of.name_, permits)}
    {}

    /// Leaves `other` empty.
    permit_guard(permit_guard&& other) noexcept = default;

    /// Gives back what it has, as the destructor does, and takes over from `other`, which is empty
    /// then.
    permit_guard& operator=(permit_guard&& other) noexcept
    {
        if (this != &other) {
            detail::give_owed_back(owed_);
            owed_ = std::move(other.owed_);
        }
        return *this;
    }

    /// Gives the permits back in the background, as `semaphore::release`. Never throws, never
    /// blocks.
    ~permit_guard() { detail::give_owed_back(owed_); }

    /// Gives the permits back.
    ///
    /// A coroutine that is cancelled does not begin an operation, and then a plain
    /// `semaphore::release` would leave the permits out. Here the destructor still gives
    /// them back.
    ///
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Effects, errors and cancellation
    ///   As `semaphore::release`. If the guard is empty: success, and nothing is sent.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto release(Token&& token = {})
    {
        using entry =
            void (*)(detail::core_ptr, detail::handler<detail::finished>, detail::owed_ptr);
        return detail::initiate<detail::finished>(
            "release",
            detail::core_of(owed_),
            static_cast<entry>(&detail::give_owed_back),
            std::forward<Token>(token),
            owed_
        );
    }

    /// How many permits it has.
    std::int64_t count() const noexcept { return detail::count_owed(owed_); }

    /// Whether it has any.
    explicit operator bool() const noexcept { return count() != 0; }

private:
    detail::owed_ptr owed_;
};

namespace detail {

struct guard_access {
    /// The permits for which it was made have come.
    static void owe(permit_guard& of, std::int64_t permits) noexcept
    {
        detail::owe(of.owed_, permits);
    }
};

/// Runs the work, and gives the permits back after it.
template <class Work>
asio::awaitable<work_result<Work, permit_guard>> run_with_permits(permit_guard permits, Work work)
{
    if constexpr (std::is_void_v<work_result<Work, permit_guard>>) {
        co_await begin_work(work, permits);
        auto const mine = co_await asio::this_coro::cancellation_state;
        if (may_await(mine))
            co_await permits.release(asio::as_tuple(asio::deferred));
    } else {
        auto result = co_await begin_work(work, permits);
        auto const mine = co_await asio::this_coro::cancellation_state;
        if (may_await(mine))
            co_await permits.release(asio::as_tuple(asio::deferred));
        co_return result;
    }
}

}  // namespace detail

/// Runs the coroutine `work(permit_guard&)`, or `work()`, while it has `permits` permits of `of`,
/// and gives them back on every way out: after the work, after its exception and after a
/// cancellation.
///
/// \par Effects
///   As `semaphore::acquire` and `semaphore::release`. The work runs in the calling coroutine. It
///   is not cancelled by anything that happens to the semaphore: a permit has no lease.
/// \par Returns
///   The result of `work`.
/// \par Throws
///   - `boost::system::system_error` with an error of `semaphore::acquire`; its text names the
///     semaphore.
///   - the exceptions of `work`.
///   A failed release is not thrown: it goes on in the background.
/// \par Cancellation
///   Passed on to the acquire or to the work; the release then goes on in the background. Work that
///   ends without an exception nevertheless has done its part: its result is returned.
/// \par Lifetimes
///   The semaphore and the work are copied into the coroutine.
template <class Work>
boost::asio::awaitable<detail::work_result<Work, permit_guard>> with_permits(
    semaphore of, std::int64_t permits, Work work
)
{
    permit_guard taken{of, 0};  // closing waits for it from here on
    co_await of.acquire(permits);
    detail::guard_access::owe(taken, permits);
    co_return co_await detail::run_with_permits(std::move(taken), std::move(work));
}

/// As `with_permits`, but waits at most `wait` for the permits; zero tries once. The limit is for
/// the permits alone.
///
/// \par Returns
///   The result of `work` in an optional, which is empty if the wait ran out; for work without a
///   result, whether it was run.
template <class Rep, class Period, class Work>
[[nodiscard]] boost::asio::awaitable<detail::if_run<detail::work_result<Work, permit_guard>>>
with_permits_for(
    semaphore of, std::chrono::duration<Rep, Period> wait, std::int64_t permits, Work work
)
{
    permit_guard taken{of, 0};  // closing waits for it from here on
    bool const is_taken = co_await of.try_acquire_for(wait, permits);
    using result = detail::if_run<detail::work_result<Work, permit_guard>>;
    if (!is_taken)
        co_return result{};
    detail::guard_access::owe(taken, permits);
    if constexpr (std::is_void_v<detail::work_result<Work, permit_guard>>) {
        co_await detail::run_with_permits(std::move(taken), std::move(work));
        co_return true;
    } else {
        auto got = co_await detail::run_with_permits(std::move(taken), std::move(work));
        co_return result(std::move(got));
    }
}

}  // namespace v0_3
}  // namespace colock
