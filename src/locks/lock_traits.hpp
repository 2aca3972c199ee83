#pragma once

#include "holds/protocol.hpp"
#include "waiting/wait_queue.hpp"

#include <memory>
#include <span>
#include <string>

namespace colock {

/// All that differs between the kinds of locks: a row of the one table of them.
struct lock_traits {
    static lock_traits const& of(lock_kind) noexcept;
    static std::span<lock_traits const> all() noexcept;

    protocol how;

    /// Makes the state of one lock in a client, where its waiters wait.
    std::shared_ptr<wait_queue> (*make)(core&, protocol const&, std::string const& name);
};

}  // namespace colock
