// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/multi_lock.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <ranges>
#include <utility>

namespace colock {

/// A lock on the majority of several independent servers: Redisson's RedissonRedLock, the "Redlock"
/// of the Redis documentation. It survives the loss of a minority.
///
/// Each part is a lock of a client of its own, whose server is no replica of another's. With an odd
/// number of them; 3 survive the loss of one, 5 of two.
///
/// \par Effects
///   `acquire` asks all servers at once, and waits for each answer for at most a limit: `limit`, or
///   a twentieth of the lease (the shortest, if their clients have several), from 20 ms to 1 s. If
///   a majority has granted it and at least half of the validity there is left, that is the hold.
///   Else everything is given back, and after a random pause of 50 to 150 ms it is tried again.
/// \par Guarantees
///   `valid_until()` is the moment to which a majority is valid: that of sending, plus the lease,
///   less the drift. Each part is renewed by itself; the hold is lost when it has no majority any
///   more. What no such lock can promise: if a server loses its writes by a restart, or its clock
///   jumps, two may hold it; servers should write to disk at each command, or stay down for a lease
///   after a restart. And its tokens are those of the parts, each with an order of its own: there
///   is none of the whole. Where a wrong owner costs more than a wait, use one server with replicas
///   and `fence`, or a consensus system.
/// \par Queries
///   Of the servers that answer, if they are a majority; each with what a majority has or more.
///   `is_locked`: a majority is. `remaining_lease`: until there is no majority any more.
///   `hold_count`: how many holds there are on a majority. They complete as soon as the servers
///   that have not answered can't change it. `force_release`: on all; the result says whether any
///   was held.
/// \par Errors
///   `error::no_quorum` of `try_acquire`: too few servers have answered. `acquire` goes on trying.
///   The other errors as `lock`, when as many servers give them that no majority is left.
///
/// Executor, thread-safety and lifetimes are those of `multi_lock`.
class red_lock : public basic_lock<detail::lock_group> {
public:
    /// These locks, each of any kind and any client.
    template <std::derived_from<basic_lock<detail::lock_id>>... Locks>
        requires(sizeof...(Locks) > 0)
    explicit red_lock(Locks const&... locks) : red_lock{detail::lock_group::of(locks...), {}}
    {}

    /// The locks in a range; `limit` is for the answer of each server: positive, at most ten years.
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

}  // namespace colock
