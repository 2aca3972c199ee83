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
///   is the same for all multi-locks of this library: by server, then by name; what was granted and
///   comes after the first that was refused is given back before. So two that want the same parts
///   never wait for each other, whichever way round they name them. `try_acquire` asks once. With a
///   lease of its own, the leases of all parts are set again when the last is in.
/// \par Guarantees
///   The hold is lost as soon as one of its parts is; `valid_until()` is the earliest of theirs.
///   `hold::fencing_token(i)` is the token of the i-th part, `fencing_token()` that of the first.
///   While it waits for one part it may hold others: locks that a task takes one by one beside
///   a multi-lock have to be taken in a fixed order, as with any mutex.
/// \par Queries
///   `is_locked`: all parts are. `remaining_lease`: the least. `hold_count`: the least.
///   `force_release`: all parts; the result says whether any was held.
/// \par Errors
///   As those of the parts, the first of them; and `error::invalid_argument` without any part.
/// \par Cancellation
///   As `lock`: nothing is left of any part.
///
/// Executor, thread-safety and lifetimes are those of `lock`; the client is that of the first part.
class multi_lock : public basic_lock<detail::lock_group> {
public:
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
