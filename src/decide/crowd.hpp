#pragma once

#include "decide/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colock::decide {

/// How the clients that wait for one key spread their attempts after a release.
///
/// The server sends the release message to all of them, and few can get the lock. So for each
/// release each client draws a place among the waiting clients, and asks when its place comes up.
/// About two of them then ask in a round trip, however many wait. With every second release that a
/// client has missed it has one place less before it. After two rounds it asks at once, so that no
/// client has bad luck for ever.
class crowd {
public:
    using duration = std::chrono::steady_clock::duration;

    /// After `poll_cap` a client asks in any case whether there is something to get.
    explicit crowd(milliseconds poll_cap) noexcept : longest_{8 * poll_cap} {}

    /// A refusal says how many subscribe, this client among them.
    void counted(std::int64_t subscribers) noexcept
    {
        others_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(subscribers, 1, most) - 1);
    }

    /// How many others wait, as far as is known.
    std::uint32_t others() const noexcept { return others_; }

    /// So many wait that a client which needs the channel no more had better leave it at once. Its
    /// next turn is so far away that to subscribe again costs less than the messages until then.
    bool is_large() const noexcept { return others_ >= large; }

    void begin_wait() noexcept { lost_ = 0; }

    /// How long to wait before asking for what was released just now. `room`: so many can get in.
    /// `jitter` in [0, 1).
    duration heard(std::int64_t room, duration round_trip, double jitter) noexcept
    {
        auto const wait = spread(room, round_trip, jitter);
        ++lost_;
        return wait;
    }

    /// The same where nothing was told: many know when a lease ends.
    duration spread(std::int64_t room, duration round_trip, double jitter) const noexcept
    {
        // One of the others holds it, or has won before.
        auto const gone = 1 + lost_ / 2;
        auto const before = others_ > gone ? others_ - gone : 0;
        auto const place =
            jitter * before - static_cast<double>(std::max<std::int64_t>(room, 1) - 1);
        if (!(place > 0))
            return {};
        using fine = std::chrono::duration<double, duration::period>;
        return std::chrono::duration_cast<duration>(place * fine{pace(others_, round_trip)});
    }

    /// From one place to the next, among so many: half of what an attempt takes, and half of what
    /// the server takes to tell all others of the release that follows. In that whole time nobody
    /// knows that somebody has got in.
    constexpr duration pace(std::uint32_t others, duration round_trip) const noexcept
    {
        return std::min<duration>(
            (round_trip + others * telling) / 2, longest_ / std::max(others, 1U)
        );
    }

    /// A place that comes up only when the wait is over, or a millisecond before, is worth nothing,
    /// because the answer comes too late: another one in the time that is left.
    static time_point in_time(
        time_point now, time_point at, time_point deadline, double jitter
    ) noexcept
    {
        auto const last = std::max(now, deadline - milliseconds{1});
        if (at < last)
            return at;
        using fine = std::chrono::duration<double, duration::period>;
        return now + std::chrono::duration_cast<duration>(jitter * fine{last - now});
    }

private:
    static constexpr std::int64_t most = 1'000'000;
    static constexpr std::uint32_t large = 16;

    /// The time that one message takes the server.
    static constexpr std::chrono::microseconds telling{5};

    duration longest_;  ///< in which all places come up
    std::uint32_t others_ = 0;
    std::uint32_t lost_ = 0;  ///< releases since the wait began
};

}  // namespace colock::decide
