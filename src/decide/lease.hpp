#pragma once

#include "decide/time.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace colock::decide {

/// The terms of one hold: the lease that its owner asked for, and how much of it is proven.
struct hold_terms {
    milliseconds lease;
    milliseconds proven{};    ///< the lease that the server had for sure after the last answer
    time_point born{};        ///< when it was granted; the epoch before that
    time_point ends{};        ///< not renewed: when its lease ends at the server
    milliseconds at_least{};  ///< the lock stays taken for this long after the grant
    bool renewed;             ///< by the watchdog; otherwise it ends with its lease

    /// The lock has to stay taken although the hold ends.
    bool stays_taken(time_point now) const noexcept { return now < born + at_least; }

    /// The watchdog renews it, no longer than `longest` after the grant.
    bool is_renewed(time_point now, std::optional<milliseconds> longest) const noexcept
    {
        return renewed && (!longest || now - born < *longest);
    }

    /// The lease to set for it now. The lock stays taken for `at_least` also if the process dies.
    milliseconds promise(time_point now, std::optional<milliseconds> longest) const noexcept
    {
        if (born == time_point{})
            return std::max(lease, at_least);
        auto const own =
            is_renewed(now, longest) ? lease : std::chrono::ceil<milliseconds>(ends - now);
        return stays_taken(now)
            ? std::max(own, std::chrono::ceil<milliseconds>(born + at_least - now))
            : own;
    }

    /// The owner asks for another lease. Returns until when the hold is valid; `until` was that
    /// time before. A shorter lease counts from now on, because the server may set it before its
    /// answer comes.
    time_point ask(time_point now, milliseconds asked, time_point until) noexcept
    {
        lease = asked;
        proven = std::min(proven, asked);  // the loss margin is that of the shorter one
        ends = now + asked;
        return std::min(until, valid_until(now, asked));
    }

    /// The owner's request for another lease is refused; the hold is valid until then.
    void stay(time_point until) noexcept { ends = std::min(ends, until + drift(lease)); }

    /// The script of `sent` has set the lease `set`, of which `sure` is proven. The owner may have
    /// asked for another one since. `begins`: the lease of this hold begins again with that script.
    /// Returns until when the hold is valid; `until` was that time before.
    time_point confirm(
        time_point sent, milliseconds set, milliseconds sure, bool begins, time_point until
    ) noexcept
    {
        auto proven_until = valid_until(sent, std::min(lease, sure));
        if (begins)
            ends = std::max(ends, sent + std::min(lease, set));
        else
            proven_until = std::min(proven_until, ends - drift(lease));
        if (proven_until <= until)
            return until;
        proven = std::min(lease, sure);
        return proven_until;
    }

    /// The server has not proven all of a lease that is not renewed. A renewal would prove more.
    bool is_short(time_point until) const noexcept
    {
        return !renewed && until + drift(lease) < ends;
    }

    /// When the hold is lost if nothing proves more. The margin belongs to the lease that runs: a
    /// lease just asked for may be much longer.
    time_point lose_at(time_point until, std::optional<milliseconds> margin) const noexcept
    {
        return until - loss_margin(std::min(lease, proven), margin);
    }
};

/// The lease of an ownership at the server, as far as its client knows it.
class server_lease {
public:
    /// It was granted now, with this end.
    void begin(time_point now, time_point until) noexcept
    {
        begun_ = now;
        until_ = until;
    }

    /// It was perhaps granted, to nobody who wants it: the server may have it until then.
    void begin_unwanted(time_point until) noexcept { until_ = until; }

    /// A script may have set this lease now.
    void extend(time_point now, milliseconds lease) noexcept
    {
        until_ = std::max(until_, now + lease);
    }

    /// The server may have it until then, because the other side of the hash has set a longer
    /// lease.
    void stands(time_point until) noexcept { until_ = std::max(until_, until); }

    /// It stays taken until then, also after a release.
    void stay_taken(time_point until) noexcept { stays_until_ = std::max(stays_until_, until); }

    /// Somebody may have taken it away.
    void suspect(time_point now) noexcept { suspected_ = now; }

    /// A script that was sent then has found it.
    void found(time_point sent) noexcept
    {
        if (sent >= suspected_)
            suspected_ = never;
    }

    bool is_granted() const noexcept { return begun_ != time_point{}; }
    bool is_suspect() const noexcept { return suspected_ != never; }
    bool stays_taken(time_point now) const noexcept { return now < stays_until_; }
    time_point begun() const noexcept { return begun_; }

    /// The server's lease has ended by then, whatever answer was lost.
    time_point until() const noexcept { return until_; }

    /// The rest of the time that it stays taken after a release.
    milliseconds kept_for(time_point now) const noexcept
    {
        return std::chrono::ceil<milliseconds>(stays_until_ - now);
    }

private:
    time_point begun_{};
    time_point until_{};
    time_point stays_until_{};
    time_point suspected_ = never;  ///< since when
};

}  // namespace colock::decide
