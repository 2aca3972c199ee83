#pragma once

#include "base/clock.hpp"

#include <string_view>

namespace colock {

class ownership;

namespace detail {
class hold_state;
}

/// The events that an ownership reports to its lock, which keeps it and the waiters.
class ownership_listener {
public:
    /// The last hold is released. True if the lock is handed over: a waiter has the ownership now,
    /// or will ask with its field.
    virtual bool hand_over(detail::hold_state& last) = 0;

    /// A release is about to be sent. True if the script is to put this client at the end of the
    /// wait list when it tells another client. `joined` follows if the release is answered.
    virtual bool joins_list() { return false; }

    /// The answer of that release: whether this client stands in the wait list.
    virtual void joined(bool /*stands*/) {}

    /// It was released, and this many others received the message. `told`: so did the first of the
    /// wait list, by its own channel.
    virtual void published(unsigned others, bool told) = 0;

    /// It was released, but the next waiter in the Redis queue has no subscriber; it may have died.
    virtual void unheard(ownership const&) {}

    /// It has ended or is lost: the lock is open to the next attempt.
    virtual void ended(ownership&) = 0;

    /// It is lost, and not released yet. True if the listener keeps it until it is released; its
    /// field may belong to another ownership by then.
    virtual bool keep_lost() { return false; }

    /// Its steps are answered, and it still exists.
    virtual void settled() {}

protected:
    ~ownership_listener() = default;
};

}  // namespace colock
