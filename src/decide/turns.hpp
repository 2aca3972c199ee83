#pragma once

#include "decide/crowd.hpp"
#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colock::decide {

/// Turns between the clients that want one lock.
///
/// The server tells all clients of a release in a fixed order. So if all asked at once, the same
/// client would always win. Instead a client ages: it waits a shorter time before it asks for each
/// release that another client has won since, and a client that has just released stands back. Then
/// the client that has waited longest asks first, and mostly alone. A client that has not released
/// lately knows of no order: it spreads its attempts among those of the others, see `crowd`.
class turns {
public:
    using duration = std::chrono::steady_clock::duration;

    /// `longest`: the longest delay, unless so many clients wait that all would ask at that moment.
    /// `poll_cap`: see `crowd`.
    turns(milliseconds longest, milliseconds poll_cap) noexcept
        : longest_{longest}
        , crowd_{poll_cap}
    {}

    /// This client has released, and the message has reached `others` clients.
    void released(time_point now, unsigned others, duration round_trip) noexcept
    {
        bool const is_news = others == 0 || came_ || others > others_;
        in_vain_ = is_news ? 0 : std::min(in_vain_ + 1, 16U);
        others_ = others;
        lost_ = 0;
        came_ = false;
        is_last_ = true;
        back_until_ = now;
        auto const delay = std::min<duration>(
            std::max(2 * round_trip, others * step(round_trip)) * (1 << in_vain_), longest_
        );
        if (others != 0 && (is_news || now >= next_vain_)) {
            back_until_ += delay;
            next_vain_ = in_vain_ != 0 && delay == longest_ ? now + 5 * longest_ : now;
        }
    }

    /// Do not ask for the lock before this time.
    time_point back_until() const noexcept { return back_until_; }

    /// Somebody else has the lock.
    void refused() noexcept
    {
        came_ = true;
        back_until_ = {};
    }

    /// The refusal says how many subscribe, this client among them.
    void counted(std::int64_t subscribers) noexcept
    {
        crowd_.counted(subscribers);
        // Most of them have come since our release, and nobody knows in which order.
        if (crowd_.others() > 2 * others_ + 1)
            is_last_ = false;
    }

    /// How long a script is on its way: usually, and where the server has nothing else to do.
    struct round_trips {
        duration usual, least;
    };

    /// Somebody else has released it: when to ask, in a wait that ends at `deadline`. `jitter`
    /// in [0, 1).
    time_point heard(time_point now, time_point deadline, round_trips took, double jitter) noexcept
    {
        refused();
        auto const drawn = crowd_.heard(1, took.least, jitter);
        auto const ahead = others_ > 1 + lost_ ? others_ - 1 - lost_ : 0;
        ++lost_;
        auto const in_order = std::max(
            std::min<duration>(ahead * step(took.usual), longest_),
            ahead * crowd_.pace(others_, took.least)
        );
        auto const delay = is_last_ ? in_order : drawn;
        return delay <= longest_ ? now + delay : crowd::in_time(now, now + delay, deadline, jitter);
    }

    /// The releasing client has told this one that its turn has come: when to ask. `listening`
    /// clients have been told by the lock's channel, and have no place in the order. Sometimes this
    /// client lets them ask first: after a second, soon again if one of them has got the lock, and
    /// more seldom each time that none has.
    time_point told(time_point now, unsigned listening, duration round_trip) noexcept
    {
        refused();
        if (next_yield_ == time_point{})
            next_yield_ = now + yield_pause_;
        if (listening == 0 || now < next_yield_)
            return now;
        next_yield_ = now + yield_pause_;
        yield_pause_ = std::min(2 * yield_pause_, longest_yield_pause);
        return now + std::max<duration>(4 * round_trip, milliseconds{1});
    }

    /// A client has the lock that has no place in the order.
    void passed_over() noexcept
    {
        next_yield_ = time_point::min();
        yield_pause_ = least_yield_pause;
    }

    /// The clients that wait for it here and elsewhere.
    crowd const& others() const noexcept { return crowd_; }

    void begin_wait() noexcept
    {
        lost_ = 0;
        crowd_.begin_wait();
    }

private:
    // Two to three round trips: the time in which the first client asks, gets the lock, and, if it
    // has little to do, releases it again.
    static constexpr duration step(duration round_trip) noexcept { return round_trip * 5 / 2; }

    static constexpr milliseconds least_yield_pause{2};
    static constexpr milliseconds longest_yield_pause{1'000};

    milliseconds longest_;
    crowd crowd_;
    bool is_last_ = false;  ///< this client comes after those that heard its last release
    unsigned others_ = 0;   ///< so many have
    unsigned lost_ = 0;     ///< releases of others since the wait began
    unsigned in_vain_ = 0;  ///< how often in a row this client stood back in vain
    bool came_ = true;
    time_point back_until_{};
    /// Until then this client does not stand back in vain again. If nobody asked within the longest
    /// delay, the counted subscribers may be gone, so once per five such delays is enough.
    time_point next_vain_{};
    time_point next_yield_{};
    milliseconds yield_pause_ = longest_yield_pause;
};

}  // namespace colock::decide
