// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/multi_lock.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <ranges>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// A lock on the majority of several independent servers: Redisson's RedissonRedLock, the "Redlock"
/// of the Redis documentation. It survives the loss of a minority.
///
/// Give each part its own client, and its own server that is not a replica of another one. Use an
/// odd number of parts: 3 survive the loss of one server, 5 the loss of two.
///
/// \par Effects
///   `acquire` asks all servers at once. It waits for each answer for at most `limit`, or, if there
///   is none, a twentieth of the lease (of the shortest lease, if the clients differ), but at least
///   20 ms and at most 1 s. If a majority has granted the lock and at least half of its validity
///   there is left, it returns the hold. Otherwise it gives everything back, and tries again after
///   a random pause of 50 to 150 ms.
/// \par Guarantees
///   `valid_until()` is the moment until which a majority is valid: the time of sending, plus the
///   lease, minus the clock drift. Each part is renewed separately, and the hold is lost when it no
///   longer has a majority. No such lock can promise more than this: if a server loses writes in a
///   restart, or its clock jumps, two owners may hold the lock. So servers should write to disk at
///   each command, or stay down for one lease after a restart. The lock as a whole has no fencing
///   token, so `fencing_token()` is 0: each part has its own, `fencing_token(i)`, and tokens of
///   different parts can't be compared. If a wrong owner costs more than a wait, use one server
///   with replicas and `fence`, or a consensus system.
/// \par Releases and extensions
///   `release` and `extend` ask all servers of the hold, and complete when a majority has agreed or
///   can't any more. The others get theirs in the background, and `client::close()` waits for them.
/// \par Queries
///   They need answers from a majority of the servers, and give what is true of a majority.
///   `is_locked`: whether a majority is locked. `remaining_lease`: the time until no majority is
///   left. `hold_count`: the number of holds on a majority. They complete as soon as the missing
///   answers can't change the result. `force_release`: forces the lock on all servers; the result
///   says whether any was held.
/// \par Errors
///   `error::no_quorum` from `try_acquire`, or at the end of a wait in which nobody was seen to
///   have a part: too few servers answered. `acquire` goes on trying. The other errors are as for
///   `lock`, when so many servers give them that no majority is left. `error::closed` also if the
///   client of the first part closes: acquires and holds end with it.
///
/// Executor, thread-safety and lifetimes are as for `multi_lock`.
class red_lock : public basic_lock<detail::lock_group> {
public:
    /// These locks, of any kind and any client.
    template <std::derived_from<basic_lock<detail::lock_id>>... Locks>
        requires(sizeof...(Locks) > 0)
    explicit red_lock(Locks const&... locks) : red_lock{detail::lock_group::of(locks...), {}}
    {}

    /// The locks in a range. `limit` is the longest wait for each server's answer: positive, at
    /// most ten years.
    template <std::ranges::input_range Range>
        requires std::derived_from<std::ranges::range_value_t<Range>, basic_lock<detail::lock_id>>
    explicit red_lock(Range const& locks, std::optional<std::chrono::milliseconds> limit = {})
        : red_lock{detail::lock_group::from(locks), limit}
    {}

private:
    red_lock(detail::lock_group all, std::optional<std::chrono::milliseconds> limit)
        : basic_lock{all.first(), by_majority(std::move(all), limit)}
    {}

    static detail::lock_group by_majority(
        detail::lock_group all, std::optional<std::chrono::milliseconds> limit
    )
    {
        all.by_majority = true;
        all.server_limit = limit;
        return all;
    }
};

}  // namespace v0_3
}  // namespace colock
