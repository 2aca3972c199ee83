#pragma once

#include "holds/hold_state.hpp"

#include <atomic>

namespace colock {

/// The holds that their owners have dropped, on any thread, on their way to the strand, which
/// releases them.
class dropped_holds {
public:
    explicit dropped_holds(core& inside) noexcept : core_{inside} {}

    /// From any thread. Never throws.
    void add(hold_ptr) noexcept;

    bool is_empty() const noexcept { return !first_; }

    /// On the strand: releases them, or only destroys them if the context is destroyed.
    void release_all() noexcept;

private:
    core& core_;
    std::atomic<hold_state*> first_ = nullptr;
};

}  // namespace colock
