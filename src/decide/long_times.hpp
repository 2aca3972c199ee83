#pragma once

#include "decide/presence.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// Finds the waits and the holds that have become longer than a limit since the last look, and says
/// when to look again. It is told of the waits first.
class long_times final : public presence {
public:
    struct limits {
        std::optional<milliseconds> wait;
        std::optional<milliseconds> hold;

        bool is_any() const noexcept { return wait || hold; }
    };

    long_times(limits of, time_point last_look, time_point now);

    void holds(
        std::string_view kind, std::string const& key, std::string id, owner who, time_point since
    ) override;
    void waits(std::string_view kind, std::string const& key, owner who, time_point since) override;

    /// No hold has to be looked at: none has a limit, and no wait has to name its holder.
    bool has_enough_holds() const noexcept override { return !limits_.hold && waits_.empty(); }

    /// One for all waits of a name.
    std::vector<std::string> wait_lines() const;

    /// One for each hold.
    std::vector<std::string> const& hold_lines() const noexcept { return held_; }

    time_point next_look() const noexcept;

private:
    struct wait {
        std::size_t calls = 0;
        bool is_group = false;  ///< for several locks, which the key lists
        time_point since{};     ///< the longest of them
        std::string holder{};
        time_point held_since{};
    };

    /// It has become so since the last look. Notes when it will, if that is to come.
    bool has_become_long(std::optional<milliseconds> limit, time_point since);

    limits limits_;
    time_point last_look_;
    time_point now_;
    time_point next_ = time_point::max();
    std::map<std::string, wait, std::less<>> waits_;
    std::vector<std::string> held_;
};

}  // namespace colock
