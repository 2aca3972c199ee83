#pragma once

#include <algorithm>
#include <cstdint>

namespace colock::decide {

/// Fencing tokens for one tenure: each hold takes one, and only a new block needs the server.
///
/// Tokens not used are gaps. A block is as long as what the last tenure used, so a tenure of many
/// short holds seldom asks twice, and the counter stays behind the microseconds since 1970, where
/// it begins again after its server has lost it.
class token_block {
public:
    static constexpr std::uint64_t smallest = 64;
    static constexpr std::uint64_t largest = 4'096;

    /// How many to ask for: one if nobody waits here who might follow.
    std::uint64_t to_ask(bool others_wait) const noexcept
    {
        return others_wait ? std::clamp(std::max(used_, used_before_), smallest, largest) : 1;
    }

    /// The server has given `count`, up to `last`; there are no tokens below 1, whatever it says.
    void put(std::uint64_t last, std::uint64_t count) noexcept
    {
        last_ = last;
        next_ = last - std::min(count, last) + 1;
    }

    bool empty() const noexcept { return next_ > last_; }

    std::uint64_t take() noexcept
    {
        ++used_;
        return next_++;
    }

    void end_tenure() noexcept
    {
        used_before_ = used_;
        used_ = 0;
        next_ = 1;
        last_ = 0;
    }

private:
    std::uint64_t next_ = 1;
    std::uint64_t last_ = 0;
    std::uint64_t used_ = 0;
    std::uint64_t used_before_ = 0;
};

}  // namespace colock::decide
