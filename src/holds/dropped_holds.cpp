#include "core/core.hpp"
#include "holds/dropped_holds.hpp"
#include "holds/hold_target.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace colock {

void dropped_holds::add(hold_ptr dropped) noexcept
{
    if (core_.is_shut_down())
        return;
    hold_state& state = *dropped;
    state.next_abandoned = first_.load(std::memory_order_relaxed);
    state.self = std::move(dropped);
    while (!first_.compare_exchange_weak(
        state.next_abandoned, &state, std::memory_order_release, std::memory_order_relaxed
    )) {}
    try {
        asio::post(core_.strand(), [this, life = core_.shared_from_this()] { release_all(); });
    } catch (...) {
        // It stays on the list, and is released with the next one that is dropped.
    }
}

void dropped_holds::release_all() noexcept
{
    auto* next = first_.exchange(nullptr, std::memory_order_acquire);
    while (next) {
        hold_ptr const dropped = std::move(next->self);
        next = next->next_abandoned;
        if (dropped->target && !core_.is_shut_down())
            dropped->target->abandon_hold(dropped);
    }
}

}  // namespace colock
