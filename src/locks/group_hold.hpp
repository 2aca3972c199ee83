#pragma once

#include "base/clock.hpp"
#include "decide/quorum.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/multi_lock.hpp>
#include <colock/options.hpp>

#include <cstdint>
#include <vector>

namespace colock {

/// Several holds as one, while enough of them are held: all parts of a multi-lock, a majority of a
/// red lock. They may belong to several clients. It runs on the strand of `inside`, whose
/// client keeps it until it is released. The parts are in the order of the locks; with a majority
/// some may be empty, and `known` says which of them count for this token.
detail::hold_ptr make_group_hold(
    detail::core_ptr const& inside,
    detail::lock_group const& of,
    std::vector<hold> parts,
    std::vector<decide::quorum_part> const& known,
    std::uint64_t token,
    acquire_options const& options
);

}  // namespace colock
