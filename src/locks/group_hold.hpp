#pragma once

#include "base/clock.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/multi_lock.hpp>
#include <colock/owner.hpp>

#include <vector>

namespace colock {

/// Several holds as one, while enough of them are held: all parts of a multi-lock, a majority of a
/// red lock. They may belong to several clients. It runs on the strand of `inside`, whose
/// client keeps it until it is released.
detail::hold_ptr make_group_hold(
    detail::core_ptr const& inside,
    detail::lock_group const& of,
    std::vector<hold> parts,
    owner const& who,
    milliseconds lease,
    bool renewed
);

}  // namespace colock
