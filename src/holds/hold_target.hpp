#pragma once

#include "base/clock.hpp"
#include <colock/hold.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace colock {

struct hold_operation;
using detail::failure;
using detail::hold_ptr;

/// The target of a hold's operations: the field of a lock, a permit, or several locks at once.
/// Releases and extensions of the hold go there.
class hold_target {
public:
    virtual void release(std::shared_ptr<hold_operation>) = 0;
    virtual void extend(std::shared_ptr<hold_operation>, milliseconds lease) = 0;

    /// The user has dropped the hold.
    virtual void abandon_hold(hold_ptr const&) = 0;

    /// Ends its only hold without releasing it, so that another client may adopt the claim.
    virtual failure give(detail::hold_state&, claim&) { return error::invalid_argument; }

    /// Its slot: a caller that waits in vain is told why the link of that slot is down.
    virtual unsigned slot() const noexcept = 0;

    // ---- From any thread, while the hold lives -------------------------------------------------

    /// Until when the hold is valid, if it is held.
    virtual time_point valid_until(detail::hold_state const&) const noexcept = 0;

    /// How many replicas have the last step that proved each of several locks.
    virtual std::optional<unsigned> replicas() const noexcept { return {}; }

    /// The token of lock `i` of several, counted from 0.
    virtual std::uint64_t fencing_token(std::size_t) const noexcept { return 0; }

    /// Whether one server has all of it.
    virtual bool has_one_server() const noexcept { return true; }

    /// The name as the caller gave it: without the client's prefix.
    virtual std::string_view shown_name() const noexcept = 0;

protected:
    ~hold_target() = default;
};

}  // namespace colock
