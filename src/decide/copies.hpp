#pragma once

#include <colock/durability.hpp>

#include <algorithm>

namespace colock::decide {

/// Which copies a step must have before it counts, besides that in the primary's memory; or which
/// ones it has. They are ordered in part: what covers another asks for at least as much, however
/// many replicas there are.
class copies {
public:
    /// More cannot be asked for by number.
    static constexpr unsigned most_replicas = 100;

    constexpr copies() noexcept = default;
    explicit constexpr copies(durability of) noexcept
        : level_{
              of == durability::disk ? static_cast<unsigned char>(majority | disk)
                                     : static_cast<unsigned char>(of)}
    {}
    static constexpr copies of_replicas(unsigned number) noexcept
    {
        copies made;
        made.number_ = static_cast<unsigned char>(std::min(number, most_replicas));
        return made;
    }

    /// The copies of a step that so many of `there` replicas have acknowledged.
    static constexpr copies had(unsigned acknowledged, unsigned there, bool on_disk) noexcept
    {
        copies best;
        for (auto const level : {durability::replica, durability::majority, durability::all})
            if (copies const next{level}; acknowledged >= next.replicas(there))
                best = next;
        best |= of_replicas(acknowledged);
        best.level_ = static_cast<unsigned char>(best.level_ | (on_disk ? disk : 0));
        return best;
    }

    constexpr bool is_none() const noexcept { return *this == copies{}; }
    constexpr bool wants_disk() const noexcept { return (level_ & disk) != 0; }

    /// How many replicas have to acknowledge it if there are so many.
    constexpr unsigned replicas(unsigned there) const noexcept
    {
        return std::max<unsigned>(number_, by_level(there));
    }

    /// Whether so many can acknowledge it.
    constexpr bool can_be_had(unsigned there) const noexcept { return replicas(there) <= there; }

    constexpr bool covers(copies const& other) const noexcept
    {
        return number_ >= other.number_ && level() >= other.level() &&
            wants_disk() >= other.wants_disk();
    }

    /// At least what both are.
    constexpr copies& operator|=(copies const& other) noexcept
    {
        number_ = std::max(number_, other.number_);
        level_ = static_cast<unsigned char>(
            std::max(level(), other.level()) | ((level_ | other.level_) & disk)
        );
        return *this;
    }

    friend constexpr bool operator==(copies const&, copies const&) noexcept = default;
    friend constexpr auto operator<=>(copies const&, copies const&) noexcept = default;

private:
    static constexpr int majority = static_cast<int>(durability::majority);
    static constexpr int disk = 8;

    constexpr int level() const noexcept { return level_ & ~disk; }

    // Without replicas the disk is enough, if it is asked for.
    constexpr unsigned by_level(unsigned there) const noexcept
    {
        auto const asked = replicas_for(static_cast<durability>(level()), there);
        return wants_disk() ? std::min(asked, there) : asked;
    }

    // Two bytes, because a million holds are as many of these.
    unsigned char number_ = 0;
    unsigned char level_ = 0;  ///< a durability up to `all`, and `disk` if it is to be on disk
};

}  // namespace colock::decide
