#pragma once

#include "base/clock.hpp"
#include "decide/reply.hpp"

#include <cstdint>

namespace colock {

class ownership;

inline namespace v0_3 {
namespace detail {
class hold_state;
}
}  // namespace v0_3

/// The events that an ownership reports to its lock, which keeps it and the waiters.
class ownership_listener {
public:
    /// The last hold is released. True if the lock is handed over: a waiter has the ownership now,
    /// or will ask with its field.
    virtual bool hand_over(detail::hold_state& /*last*/) { return false; }

    /// A release is about to be sent: the number of the request that the script is to put at the
    /// end of the wait list if another one has the turn; zero for none.
    virtual std::uint64_t number_that_joins() { return 0; }

    /// It was released, by a script with that answer, and this many others received the message. Or
    /// it was gone already, and the next waiter in the Redis queue has no subscriber.
    virtual void released(ownership const&, decide::release_answer const&, unsigned /*others*/) {}

    /// It has ended or is lost: the lock is open to the next attempt.
    virtual void ended(ownership&) = 0;

    /// It is lost, or its steps are answered, and it is not released yet. True if the listener
    /// keeps a lost one until it is released; its field may belong to another ownership by then.
    virtual bool changed() { return false; }

protected:
    ~ownership_listener() = default;
};

}  // namespace colock
