// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/detail/initiate.hpp>
#include <colock/options.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// Runs the coroutine `work(hold&)` unless some process has begun it within the last `period`: at
/// most once per period, in the whole fleet. For jobs that every node starts by its own timetable.
///
/// It tries the lock once, with `acquire_options::at_least`, and runs the work under it as
/// `with_lock` does. The lock stays taken until `period` after the grant, even if the work ends
/// earlier, so a node whose clock is late finds it taken. Choose `period` longer than the clocks of
/// the nodes differ and shorter than the timetable: for a job at each full hour, 30 minutes.
///
/// Whether it has run in this period, `lock::is_locked` says; how long the period still is,
/// `lock::remaining_lease`.
///
/// \par Guarantees
///   Runs begin at least `period` apart, as long as the server keeps its data. If the process dies
///   in the middle, the lock stays taken for `period` or `config::lease`, whichever is longer,
///   after its last renewal, at most. A run that throws counts as a run, because nobody can know
///   what it has done. A run that takes longer than `period` holds the lock until its end.
/// \par Returns
///   The result of `work` in an optional, which is empty if the work was not run; for work without
///   a result, whether it was run.
/// \par Throws
///   As `with_lock`, with the errors of `try_acquire`; `error::invalid_argument` if the period is
///   negative or over ten years, or the lock is the read side of a read-write lock or a group.
/// \par Cancellation and lifetimes
///   As `with_lock`.
template <class Lock, class Rep, class Period, class Work>
[[nodiscard]] boost::asio::awaitable<detail::if_run<detail::result_under<Lock, Work>>> once_per(
    Lock lock, std::chrono::duration<Rep, Period> period, Work work
)
{
    acquire_options options;
    options.at_least = detail::round_up<std::chrono::milliseconds>(period);
    return with_lock_for(std::move(lock), std::chrono::milliseconds{0}, options, std::move(work));
}

}  // namespace v0_3
}  // namespace colock
