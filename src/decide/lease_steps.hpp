#pragma once

#include "decide/answer.hpp"
#include "decide/connection_life.hpp"
#include "decide/time.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace colock::decide {

/// The steps that set the lease of one hash at the server, from their sending on, and what an
/// answer proves: what is left of its lease in the worst order in which the server may run them.
///
/// A step that is not answered may run at any time. So may a lost one, until the server has ended
/// its connection for certain. Of those that were answered, the server has run one before another
/// for certain if it was answered before the other was begun, or if both were written on the same
/// connection, in this order.
class lease_steps {
public:
    /// Which lease a step sets. A reader's never shortens the lease of the hash, which a writer
    /// beside it relies on; a reader relies on both.
    enum class side : char { whole, reader };

    struct step {
        std::uint32_t number;
        milliseconds lease;
        side of;
    };

    /// One is about to be sent.
    step begin(milliseconds lease, side of = side::whole)
    {
        step const made{++last_, lease, of};
        all_.push_back({made, {}, state::sent, 0});
        return made;
    }

    /// It is answered, and was written at last at `on`. Returns the lease that the server has for
    /// sure after it, counted from its sending, if the answer says that it has set its own.
    milliseconds end(step const& which, answer const& got, connection_life const& on)
    {
        auto const at =
            std::ranges::find(all_, which.number, [](entry const& e) { return e.what.number; });
        auto const proven = worst(*at, on);
        if (got.what == answer::kind::lost)
            lose(at, on);
        else if (got.sent == time_point{})
            all_.erase(at);  // it never runs
        else
            *at = {at->what, on, state::over, last_};
        tidy(on);
        return proven;
    }

    /// The longest lease of those that may still run; zero if there are none. Until they are
    /// answered or lost, nobody knows when the server's lease ends.
    milliseconds longest_under_way() const noexcept
    {
        milliseconds longest{0};
        for (auto const& e : all_)
            if (e.is == state::sent)
                longest = std::max(longest, e.what.lease);
        return longest;
    }
    bool is_under_way() const noexcept
    {
        return std::ranges::any_of(all_, [](entry const& e) { return e.is == state::sent; });
    }

    /// None of them bears on a later answer.
    bool is_empty() const noexcept { return all_.empty(); }

private:
    enum class state : char { sent, lost, over };

    struct entry {
        step what;
        connection_life on;  ///< where it was written, if it is answered or lost
        state is;
        std::uint32_t seen;  ///< over: the last step that had begun before
    };

    milliseconds worst(entry const& which, connection_life const& on) const noexcept
    {
        auto least = which.what.lease;
        for (auto const& e : all_)
            if (&e != &which && may_shorten(e, which) && may_run_after(e, which, on))
                least = std::min(least, e.what.lease);
        return least;
    }

    static bool may_shorten(entry const& e, entry const& which) noexcept
    {
        return e.what.of == side::whole || which.what.of == side::reader;
    }

    static bool may_run_after(
        entry const& e, entry const& which, connection_life const& on
    ) noexcept
    {
        switch (e.is) {
        case state::sent: return true;
        case state::lost: return !on.is_after(e.on);
        case state::over: break;
        }
        bool const is_ordered = on.is_same(e.on) && e.on.place < on.place;
        return e.seen >= which.what.number && !is_ordered && !on.is_after(e.on);
    }

    // A server that has ended the connection of this one has ended the older ones of the link, too.
    void lose(std::vector<entry>::iterator at, connection_life const& on)
    {
        *at = {at->what, on, state::lost, 0};
        auto const lost = *at;
        std::erase_if(all_, [&](entry const& e) {
            return e.is == state::lost && e.what.number != lost.what.number &&
                e.on.link == on.link && may_shorten(lost, e) && lost.what.lease <= e.what.lease;
        });
    }

    // A step that is over matters to those that had begun before.
    void tidy(connection_life const& on)
    {
        if (is_under_way())
            return;
        std::erase_if(all_, [&](entry const& e) {
            return e.is == state::over || on.is_after(e.on);
        });
    }

    std::vector<entry> all_;
    std::uint32_t last_ = 0;
};

}  // namespace colock::decide
