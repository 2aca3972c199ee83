// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {

namespace detail {

/// Several locks that are taken as one.
struct lock_group {
    struct part {
        core_ptr where;
        lock_id id;
    };

    std::string name;  ///< the names of the parts, joined by commas
    std::vector<part> parts;
    bool by_majority = false;
    std::optional<std::chrono::milliseconds> server_limit{};  ///< by majority: of each answer

    std::size_t needed() const noexcept
    {
        return by_majority ? parts.size() / 2 + 1 : parts.size();
    }

    bool has_one_client() const noexcept
    {
        return std::ranges::all_of(parts, [this](part const& each) {
            return each.where == first();
        });
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

inline std::shared_ptr<std::string const> server_for(
    core_ptr const& core, lock_group const& of, auto const&...
) noexcept
{
    return of.has_one_client() ? server_of(core) : nullptr;
}

template <>
struct lock_operations<lock_group> {
    using milliseconds = std::chrono::milliseconds;
    using hold_type = group_hold;

    static void acquire(core_ptr, handler<acquired<group_hold>>, lock_group, acquire_options);
    static void try_acquire_for(
        core_ptr, handler<tried<group_hold>>, lock_group, milliseconds wait, acquire_options
    );
    static void try_acquire_until(
        core_ptr,
        handler<tried<group_hold>>,
        lock_group,
        hold::clock::time_point until,
        acquire_options
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
/// The parts may be of any kind, and of different clients. A part may be named twice.
///
/// \par Effects
///   `acquire` asks for all parts at once. Parts on one server and connection go in one script
///   call, one round trip. If some parts are refused, it acquires the parts one after the other, in
///   an order that is the same for all multi-locks of this library: by name, for a read-write lock
///   the write side first, then by the first of the server's configured addresses. So two
///   multi-locks with the same parts never wait for each other, whatever order they name the parts
///   in. Equal names on several servers need addresses that are spelt alike in all processes. While
///   it waits for a part, it holds and renews the parts before it, and gives all others back. If
///   the options name a lease, it sets the leases of all parts when it has the last one.
///
///   Others may want the same parts in another order. Therefore it waits for 1.5 to 3 s per part;
///   then it gives everything back, pauses for 50 to 150 ms, and begins again with a limit that
///   doubles each time. `try_acquire` asks once, for all parts at the same time, and so never gets
///   both sides of a read-write lock.
/// \par Guarantees
///   At least half of each part's validity is left. The hold is lost as soon as one of its parts is
///   lost, and released as soon as the client of one part closes. `valid_until()` is the earliest
///   of the parts. When an acquire fails, it has given back everything it took, unless a server is
///   silent for `config::timeout`, the wait is over, or it was cancelled.
///   `group_hold::fencing_token(i)` is the token of part `i`, `fencing_token()` the token of the
///   first part. If a task also takes single locks, it has to keep to a fixed order, as with any
///   mutex.
/// \par Queries
///   `is_locked`: whether all parts are locked. `remaining_lease` and `hold_count`: the least of
///   the parts. `force_release`: forces all parts; the result says whether any was held.
/// \par Errors
///   The first error of a part; and `error::invalid_argument` if there are no parts.
/// \par Cancellation
///   As `lock`: it leaves nothing of any part behind.
///
/// Executor, thread-safety and lifetimes are as for `lock`, with the client of the first part. If
/// the clients of the parts run in several contexts, destroy none of these before the operations on
/// the group have completed and its holds are released.
class multi_lock : public basic_lock<detail::lock_group> {
public:
    /// These locks, of any kind and any client.
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

}  // namespace v0_3
}  // namespace colock
