#pragma once

#include "decide/time.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace colock::decide {

/// The line of the log for a server that is reached again: for how long it was not, and what has
/// become of the holds.
///
/// The line waits for the answers to the renewals that ask for all holds then, but not for long.
class outage {
public:
    /// Of the holds that were asked for: answered, or not yet.
    struct holds {
        std::size_t confirmed = 0;
        std::size_t open = 0;
    };

    /// A link has ended. `lost`: the holds that the client has lost so far.
    void link_down(std::size_t link, time_point now, std::uint64_t lost);

    /// It is up again: if it was not before, a line is to be told.
    void link_up(std::size_t link, time_point now);

    /// The client stops.
    void clear() noexcept;

    /// A line is to be told, from this time on.
    bool is_to_be_told() const noexcept { return since_.has_value(); }
    time_point next_look() const noexcept { return next_look_; }

    /// The line. None if it has to wait until `next_look()`, and none is to be told any more after
    /// a short outage that has cost no hold.
    std::optional<std::string> tell(time_point now, holds const& of, std::uint64_t lost);

private:
    std::map<std::size_t, time_point> down_;  ///< the links that are down, and since when
    std::optional<time_point> since_;         ///< the earliest of those that are up again
    time_point reached_{};
    time_point next_look_{};
    std::uint64_t lost_before_ = 0;
};

}  // namespace colock::decide
