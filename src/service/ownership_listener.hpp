#pragma once

#include <cstdint>
#include <string>

namespace colock {

class ownership;

namespace detail {
class hold_state;
}

/// What an ownership reports to the state of its lock, which keeps it and the waiters.
class ownership_listener {
public:
    /// The last hold is released. True if that is all: a waiter has the ownership now, or will ask
    /// with its field.
    virtual bool hand_over(detail::hold_state& last) = 0;

    /// It is about to be published as released: not zero if that message comes back, and is passed
    /// on to nobody; see `subscription_manager`.
    virtual std::uint32_t expect_echo(std::string const& channel) = 0;

    /// It was released, and so many others were told.
    virtual void published(unsigned others) = 0;

    /// It was released, and whose turn it is does not listen: he may be dead.
    virtual void unheard(ownership const&) {}

    /// It has ended, or can't be relied on: the lock is open to the next attempt.
    virtual void ended(ownership&) = 0;

    /// It is lost, and not released yet. True if the listener keeps it until it is: its field
    /// may be another's by then.
    virtual bool keep_lost() { return false; }

    /// What was on its way for it is answered, and it stands.
    virtual void settled() {}

protected:
    ~ownership_listener() = default;
};

}  // namespace colock
