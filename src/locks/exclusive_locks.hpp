#pragma once

#include "base/recycling.hpp"
#include "locks/exclusive_lock.hpp"

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock {

/// The exclusive locks of a client that have something to do.
class exclusive_locks {
public:
    explicit exclusive_locks(core& inside) noexcept : core_{inside} {}

    /// The state of a lock; makes it if there is none.
    exclusive_lock& at(lock_ref);
    exclusive_lock* find(lock_ref) const noexcept;
    bool is_empty() const noexcept { return known_.empty(); }

    /// Drops the state of a lock if nothing refers to it any more.
    void forget_if_idle(exclusive_lock&) noexcept;

    /// The servers of these slots are reached again: wakes the sleeping waiters, which may have
    /// missed a message.
    void wake(slot_filter const&);

    void end_waiters(error_code why);

    /// Drops what is remembered of the turns between clients.
    void forget_turns();

    /// Destroys handlers without calling them, because the context is destroyed.
    void destroy_pending() noexcept;

private:
    /// Acts on the chosen locks. Acting may add and drop locks, so it goes by their names.
    template <class IsWanted, class Act>
    void for_each(IsWanted const& is_wanted, Act const& act);

    using allocator =
        recycling_allocator<std::pair<lock_ref const, std::unique_ptr<exclusive_lock>>>;

    core& core_;
    std::unordered_map<
        lock_ref,
        std::unique_ptr<exclusive_lock>,
        hash_lock_ref,
        std::equal_to<lock_ref>,
        allocator>
        known_;  ///< by the names that the locks own
};

}  // namespace colock
