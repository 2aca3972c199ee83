#include "core/core.hpp"
#include "locks/exclusive_locks.hpp"
#include "locks/writers.hpp"

#include <string>

namespace colock {

exclusive_lock& exclusive_locks::at(lock_ref which)
{
    if (auto* const known = find(which))
        return *known;
    auto made = which.kind == lock_kind::write ? std::make_unique<writers>(core_, which)
                                               : std::make_unique<exclusive_lock>(core_, which);
    return *known_.emplace(made->ref(), std::move(made)).first->second;
}

exclusive_lock* exclusive_locks::find(lock_ref which) const noexcept
{
    auto const at = known_.find(which);
    return at == known_.end() ? nullptr : at->second.get();
}

void exclusive_locks::forget_if_idle(exclusive_lock& lock) noexcept
{
    if (!lock.is_idle())
        return;
    known_.erase(known_.find(lock.ref()));
    core_.on_less();
}

template <class IsWanted, class Act>
void exclusive_locks::for_each(IsWanted const& is_wanted, Act const& act)
{
    std::vector<lock_id> wanted;
    for (auto const& [which, lock] : known_)
        if (is_wanted(*lock))
            wanted.push_back({std::string{which.name}, which.kind});
    for (auto const& id : wanted)
        if (auto* const lock = find(ref_of(id)))
            act(*lock);
}

void exclusive_locks::wake(slot_filter const& mine)
{
    for_each(
        [&](exclusive_lock const& lock) { return lock.is_sleeping() && mine(lock.slot()); },
        [](exclusive_lock& lock) { lock.wake_if_asleep(); }
    );
}

void exclusive_locks::end_waiters(error_code why)
{
    for_each(
        [](exclusive_lock const& lock) { return lock.is_wanted(); },
        [why](exclusive_lock& lock) { lock.end_waiters(why); }
    );
}

void exclusive_locks::forget_turns()
{
    for_each(
        [](exclusive_lock const& lock) { return lock.remembers(); },
        [](exclusive_lock& lock) { lock.forget_turns(); }
    );
}

void exclusive_locks::destroy_pending() noexcept
{
    for (auto const& [name, lock] : known_)
        lock->destroy_pending();
}

}  // namespace colock
