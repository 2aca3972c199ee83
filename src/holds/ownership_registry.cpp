// The registry of holds, which knows each ownership.
#include "core/core.hpp"
#include "decide/presence.hpp"
#include "holds/hold_registry.hpp"
#include "holds/ownership.hpp"

#include <boost/asio/post.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace colock {

namespace {

/// How many releases are under way at a time while a client closes.
constexpr std::size_t most_owed_releases = 4'096;

ownership& of(registry_hook& each) { return static_cast<ownership&>(each); }
ownership const& of(registry_hook const& each) { return static_cast<ownership const&>(each); }

}  // namespace

void hold_registry::remove(registry_hook& held) noexcept
{
    if (!held.is_linked())
        return;
    auto const at = all_.iterator_to(held);
    if (next_release_ == at)
        ++next_release_;
    all_.erase(at);
    core_.on_less();
}

void hold_registry::tell(presence& to) const
{
    for (auto const& each : all_) {
        if (to.has_enough_holds())
            return;
        of(each).tell(to);
    }
}

void hold_registry::confirm(slot_filter const& mine)
{
    for (auto& each : all_)
        if (mine(of(each).slot()))
            of(each).renew_now();
}

decide::outage::holds hold_registry::count() const
{
    decide::outage::holds found;
    for (auto const& each : all_)
        (of(each).is_open() ? found.open : found.confirmed) += of(each).living_holds();
    return found;
}

void hold_registry::release_all()
{
    next_release_ = all_.begin();
    release_more();
}

// A million at once would be a million scripts in memory, and would block everything else. So each
// completed release makes room for the next.
void hold_registry::release_more()
{
    if (std::exchange(releasing_, true))
        return;
    while (next_release_ != all_.end() && core_.count.owed_releases < most_owed_releases)
        of(*next_release_++).shared_from_this()->release_all();
    releasing_ = false;
}

void hold_registry::drop(hold_ptr dropped) noexcept
{
    if (core_.is_shut_down())
        return;
    hold_state& state = *dropped;
    auto* next = first_dropped_.load(std::memory_order_relaxed);
    state.abandoned = std::move(dropped);
    do
        state.abandoned = hold_ptr{std::move(state.abandoned), next};
    while (!first_dropped_.compare_exchange_weak(
        next, &state, std::memory_order_release, std::memory_order_relaxed
    ));
    try {
        asio::post(core_.strand(), [this, life = core_.shared_from_this()] { release_dropped(); });
    } catch (...) {
        // It stays on the list, and is released with the next one that is dropped.
    }
}

void hold_registry::release_dropped() noexcept
{
    auto* next = first_dropped_.exchange(nullptr, std::memory_order_acquire);
    while (next) {
        auto& each = *next;
        next = each.abandoned.get();
        hold_ptr const dropped{std::move(each.abandoned), &each};
        if (dropped->target && !core_.is_shut_down())
            dropped->target->abandon_hold(dropped);
    }
}

void hold_registry::destroy_pending() noexcept
{
    std::vector<std::shared_ptr<ownership>> copy;
    for (auto& each : all_)
        copy.push_back(of(each).shared_from_this());
    for (auto const& each : copy)
        each->destroy_pending();
}

}  // namespace colock
