// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace colock {

namespace detail {

/// Several locks that are taken as one.
struct lock_group {
    struct part {
        core_ptr where;
        lock_id id;
    };

    std::string name;  ///< theirs, joined by commas
    std::vector<part> parts;
    bool by_majority = false;
    std::optional<std::chrono::milliseconds> server_limit{};  ///< by majority: for each answer

    std::size_t needed() const noexcept
    {
        return by_majority ? parts.size() / 2 + 1 : parts.size();
    }

    core_ptr const& first() const noexcept
    {
        static core_ptr const none;
        return parts.empty() ? none : parts.front().where;
    }

    void add(basic_lock<lock_id> const& one)
    {
        name += (parts.empty() ? "" : ",") + one.name();
        parts.push_back({one.core_, one.id_});
    }

    static lock_group of(auto const&... locks)
    {
        lock_group group;
        (group.add(locks), ...);
        return group;
    }

    static lock_group from(std::ranges::input_range auto const& locks)
    {
        lock_group group;
        for (auto const& one : locks)
            group.add(one);
        return group;
    }
};

template <>
struct lock_operations<lock_group> {
    using milliseconds = std::chrono::milliseconds;

    static void acquire(core_ptr, handler<acquired>, lock_group, acquire_options);
    static void try_acquire(core_ptr, handler<tried>, lock_group, acquire_options);
    static void try_acquire_for(
        core_ptr, handler<tried>, lock_group, milliseconds wait, acquire_options
    );
    static void is_locked(core_ptr, handler<answered_bool>, lock_group);
    static void hold_count(core_ptr, handler<answered_count>, lock_group, owner);
    static void remaining_lease(core_ptr, handler<answered_lease>, lock_group);
    static void force_release(core_ptr, handler<answered_bool>, lock_group);
};

}  // namespace detail

/// Several locks that are taken together, all or none: Redisson's RedissonMultiLock, on the same
/// keys as its parts.
///
/// The parts may be of any kind and of any clients. A part may be named twice.
///
/// \par Effects
///   `acquire` asks for all parts at once; parts on one server and link go in one script call, one
///   round trip. If some are refused, the parts are acquired one after the other, in an order that
///   is the same for all multi-locks of this library: by name, of a read-write lock the write side
///   first, then by server. So two that want the same parts never wait for each other, whichever
///   way round they name them. While it waits for a part it holds those before it, and renews them;
///   all else is given back. With a lease of its own, the leases of all parts are set when the last
///   is in.
///
///   For others who want the same parts in another order, it waits so for 1.5 to 3 s a part; then
///   it gives everything back, pauses for 50 to 150 ms, and begins again, each time with twice the
///   patience. `try_acquire` asks once, all at the same time, and so never gets both sides of a
///   read-write lock.
/// \par Guarantees
///   Of each part at least half of its validity is left. The hold is lost as soon as one of its
///   parts is, and released as soon as the client of one closes; `valid_until()` is the earliest of
///   theirs. When an acquire fails, what it took has been given back, unless a server is silent for
///   `config::timeout`, the wait is over, or it was cancelled. `hold::fencing_token(i)` is the
///   token of the i-th part, `fencing_token()` that of the first. Locks that a task takes one by
///   one beside a multi-lock have to be taken in a fixed order, as with any mutex.
/// \par Queries
///   `is_locked`: all parts are. `remaining_lease`: the least. `hold_count`: the least.
///   `force_release`: all parts; the result says whether any was held.
/// \par Errors
///   As those of the parts, the first of them; and `error::invalid_argument` without any part.
/// \par Cancellation
///   As `lock`: nothing is left of any part.
///
/// Executor, thread-safety and lifetimes are those of `lock`; the client is that of the first part.
/// Where the clients of the parts run in several contexts, none of these may be destroyed before
/// the operations on the group have completed and its holds are released.
class multi_lock : public basic_lock<detail::lock_group> {
public:
    /// These locks, each of any kind and any client.
    template <std::derived_from<basic_lock<detail::lock_id>>... Locks>
        requires(sizeof...(Locks) > 0)
    explicit multi_lock(Locks const&... locks) : multi_lock{detail::lock_group::of(locks...)}
    {}

    /// The locks in a range.
    template <std::ranges::input_range Range>
        requires std::derived_from<std::ranges::range_value_t<Range>, basic_lock<detail::lock_id>>
    explicit multi_lock(Range const& locks) : multi_lock{detail::lock_group::from(locks)}
    {}

private:
    explicit multi_lock(detail::lock_group all) : basic_lock{all.first(), std::move(all)} {}
};

}  // namespace colock
