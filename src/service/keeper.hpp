#pragma once

#include <cstdint>
#include <string>

namespace colock {

class tenure;

namespace detail {
class hold_state;
}

/// Who keeps the ownerships of a lock, and those who wait for it: what an ownership tells him.
class keeper {
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
    virtual void unheard(tenure const&) {}

    /// It has ended, or can't be relied on: the lock is open to the next attempt.
    virtual void ended(tenure&) = 0;

    /// It is lost, and not released yet. True if it stays with its keeper until it is: its field
    /// may be another's by then.
    virtual bool keep_lost() { return false; }

    /// What was on its way for it is answered, and it stands.
    virtual void settled() {}

protected:
    ~keeper() = default;
};

}  // namespace colock
