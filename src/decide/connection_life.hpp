#pragma once

#include <cstdint>

namespace colock::decide {

/// One life of a connection to a server, and a place in what was written on it: the server runs
/// that in this order. A link has one life after the other. Default: none.
struct connection_life {
    std::uint32_t link = 0;    ///< a number that no other link of the client ever has
    std::uint32_t number = 0;  ///< of this life among those of the link
    /// Nothing that was written in earlier lives than this one runs any more: the server has ended
    /// them for certain, or is another one.
    std::uint32_t oldest = 0;
    std::uint64_t place = 0;

    /// The link is up again.
    void begin(std::uint32_t life, bool others_have_ended) noexcept
    {
        number = life;
        if (others_have_ended)
            oldest = life;
        place = 0;
    }

    /// The next place of this life.
    connection_life write() noexcept
    {
        ++place;
        return *this;
    }

    bool is_same(connection_life const& other) const noexcept
    {
        return link != 0 && link == other.link && number == other.number;
    }

    /// When this life began, nothing of `other` was left to run.
    bool is_after(connection_life const& other) const noexcept
    {
        return link != 0 && link == other.link && other.number < oldest;
    }
};

}  // namespace colock::decide
