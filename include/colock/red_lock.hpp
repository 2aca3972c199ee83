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
///   20 ms and at most 1 s; when most servers have answered, the others have twice as long as that
///   took, or three of their usual round trips, at least 5 ms. If a majority has granted the lock
///   and at least half of its validity there is left, it raises the fencing counters of that
///   majority to one token, in one more round trip of the same limit, and returns the hold.
///
///   Otherwise the parts have an order, by name, host and port. If it has a part before the first
///   one that somebody else has, it keeps its parts, and asks for the rest once more, a round trip
///   later. If not, or in vain, it gives everything back, and waits for that first part as for any
///   lock, in the wait list of its server; the one that gets it asks for the rest. So of several
///   that begin at the same time one gets the lock, and a release tells the next. An acquire with a
///   majority but not the first part gives it back once, for four round trips, 1 ms at least,
///   because the next may have been told just now; a single try does not. It waits for one part for
///   one to two `config::poll_cap`, and then asks all again, because that server may have died. If
///   too few servers answer, or vote, it tries again after 50 to 150 ms.
///
///   While the hold is renewed, a part that is missing is taken again: at once when it is lost,
///   then every third of the lease. So servers may restart one after the other under one hold.
///
///   A server that has started a short time ago, and may have lost its locks, has no vote: its part
///   is taken, and counts when the longest lease is over (`config::vote_after`). So the first lock
///   after all servers have started waits for about a lease, `try_acquire` ends with
///   `error::no_quorum`, and the log says for how long. Set `config::vote_after = 0` for servers
///   that lose nothing in a restart. A server that does not tell how long it has been up votes.
/// \par Guarantees
///   `valid_until()` is the moment until which a majority is valid: the time of sending, plus the
///   lease, minus the clock drift. Each part is renewed separately, and the hold is lost when it no
///   longer has a majority; a hold that is lost is never healed.
///
///   `fencing_token()` rises from hold to hold of all clients, also if any number of servers lose
///   all that they had, at any time: a resource that refuses lower tokens is never written by an
///   old owner after a new one. That assumes that no server's clock is set back below a token that
///   it gave. And the clocks of the servers have to agree within `limit`: an acquire waits for the
///   slowest of a majority, and ends with `error::no_quorum` if that takes longer. It is 0 if a
///   part has no token that follows its server's clock: a reader, a `fenced_lock`, or with
///   `config::fencing` off. An owner that enters again gets the same token. `fencing_token(i)` is
///   what part `i` drew; such tokens can't be compared.
///
///   Without a resource that checks tokens, exclusion also assumes that clocks run at the same rate
///   within 1 %, that `config::vote_after` is not below the longest lease of all clients, and that
///   nobody forces the lock, flushes a server, or sets a server's clock.
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
///   have a part: too few servers answered, or vote. `acquire` goes on trying. The other errors are
///   as for `lock`, when so many servers give them that no majority is left. `error::closed` also
///   if the client of the first part closes: acquires and holds end with it.
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
