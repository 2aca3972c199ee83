#pragma once

#include "decide/copies.hpp"
#include "decide/time.hpp"
#include <colock/options.hpp>
#include <colock/owner.hpp>

#include <algorithm>
#include <cstdint>

namespace colock::decide {

/// The copies that the options ask for; where they name nothing, those that the client usually
/// wants.
constexpr copies copies_of(acquire_options const& options, durability usual) noexcept
{
    return options.sync_replicas != 0
        ? copies::of_replicas(static_cast<unsigned>(options.sync_replicas))
        : copies{options.durability.value_or(usual)};
}

/// The hold that a caller wants: its `acquire_options`, with the client's lease and durability
/// where they name none.
struct acquire_terms {
    acquire_terms(acquire_options const& options, milliseconds usual_lease, durability usual)
        : who{options.as.value_or(owner{})}
        , lease{std::max(options.lease.value_or(usual_lease), options.at_least)}
        , at_least{options.at_least}
        , renewed{!options.lease || options.renew}
        , shared_owner{options.as.has_value()}
        , re_entrant{options.re_entrant}
        , wants{copies_of(options, usual)}
    {}

    owner who;
    milliseconds lease;
    milliseconds at_least;  ///< the lock stays taken for this long
    bool renewed;
    bool shared_owner;  ///< the caller named the owner: it may re-enter
    bool re_entrant;    ///< if not, an owner that has the lock is refused
    copies wants;       ///< that have to have it

    /// Whether the lease of those is all that they need.
    template <class Terms>
    bool is_alike(Terms const& others) const noexcept
    {
        return renewed && others.renewed && lease == others.lease && at_least == milliseconds{0};
    }

    /// Whether the lock may go on to them unchanged from those: the same lease, and enough copies.
    bool may_follow(acquire_terms const& others) const noexcept
    {
        return is_alike(others) && others.wants.covers(wants);
    }
};

/// The permits that a call wants of a semaphore.
struct permit_terms {
    std::int64_t permits = 0;
    std::int64_t total = 0;  ///< that the semaphore gets if it does not exist; zero: it is not made
};

}  // namespace colock::decide
