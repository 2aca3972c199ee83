#pragma once

#include "holds/ownership.hpp"
#include "waiting/waiter.hpp"

#include <functional>
#include <memory>

namespace colock {

/// Lets a waiter into an ownership that its owner has already. When that is answered the lock may
/// be on another one: the hold is then lost. If it has got in, and its listener is there, `then`
/// follows.
void enter_again(
    std::shared_ptr<waiter> const& who,
    std::shared_ptr<ownership> const& held,
    std::function<void(waiter const&)> then
);

}  // namespace colock
