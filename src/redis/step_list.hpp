#pragma once

#include "decide/linked_list.hpp"
#include "redis/transport.hpp"

#include <memory>
#include <utility>

namespace colock {

using step_list = decide::linked_list<step>;

/// Takes out one after the other. Setting an answer runs the coroutine that waits for it, which may
/// destroy the owner of the steps with its `alive`: from then on that is false, and the rest is
/// dropped.
template <class Act>
void for_each_taken(step_list taken, std::shared_ptr<bool> alive, Act const& act)
{
    while (!taken.empty()) {
        step& s = taken.front();
        taken.pop_front();
        if (*alive)
            act(s);
        else
            s.answered.destroy_waiting();
    }
}

inline void fail_all(step_list failing, std::shared_ptr<bool> alive, failure why)
{
    for_each_taken(std::move(failing), std::move(alive), [why](step& s) {
        s.answered.set({answer::kind::failed, {}, why, {}});
    });
}

/// Destroys the tasks that wait for them.
inline void destroy_tasks(step_list& dropped) noexcept
{
    while (!dropped.empty()) {
        step& s = dropped.front();
        dropped.pop_front();
        s.answered.destroy_waiting();
    }
}

}  // namespace colock
