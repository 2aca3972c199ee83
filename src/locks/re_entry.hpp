#pragma once

#include "holds/ownership.hpp"
#include "waiting/waiter.hpp"

#include <functional>
#include <memory>

namespace colock {

/// Lets a waiter into an ownership that its owner has already. By the time of the answer the lock
/// may have another ownership; the hold is then lost. `then` follows a success.
void enter_again(
    std::shared_ptr<waiter> const& who,
    std::shared_ptr<ownership> const& held,
    std::function<void(waiter const&)> then
);

}  // namespace colock
