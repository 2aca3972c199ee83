#pragma once

#include "service/tenure.hpp"
#include "service/waiter.hpp"

#include <memory>

namespace colock {

/// Lets the owner of an ownership in once more. When that is answered the lock may be on another
/// one, which `is_current` says; the hold is then lost. Afterwards `entered` is called.
void let_in(
    std::shared_ptr<waiter> const& who,
    std::shared_ptr<tenure> const& held,
    bool (*is_current)(waiter const&, tenure const&),
    void (*entered)(waiter const&)
);

}  // namespace colock
