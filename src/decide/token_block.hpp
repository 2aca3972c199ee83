#pragma once

#include <algorithm>
#include <cstdint>

namespace colock::decide {

/// Fencing tokens that are drawn ahead: each hold that the lock is handed to takes one, and only a
/// new block needs the server.
///
/// Tokens that nobody takes are gaps. A block that begins close to the last one may bring the
/// counter ahead of the server's clock, and then the server gives only one token until the clock
/// has caught up. So the size of a block follows the use of the last one, and the rest of a block
/// is kept while nobody else has drawn.
class token_block {
public:
    static constexpr std::uint64_t smallest = 2;
    static constexpr std::uint64_t largest_first = 64;
    static constexpr std::uint64_t largest = 4'096;

    /// How many tokens to ask for. `followers`: the waiters after the head that may take one
    /// without a script; counting them up to `largest_first` is enough.
    std::uint64_t to_ask(std::uint64_t followers) const noexcept
    {
        if (followers == 0)
            return 1;
        auto const first = size_ != 0 ? size_ : std::min(followers + 1, largest_first);
        auto const wanted = used_ == 0 ? first : std::max(used_ / 2, smallest);
        auto const missing = wanted > left() ? wanted - left() : 1;
        return std::min(missing, largest);
    }

    /// The server has given `count`, up to `last`; there are no tokens below 1, whatever it says.
    void put(std::uint64_t last, std::uint64_t count) noexcept
    {
        if (!empty())
            end_run();
        auto const before = last - std::min(count, last);
        if (before != last_)  // others may have drawn since: the rest would be below their tokens
            next_ = before + 1;
        last_ = last;
        is_block_ = left() > 1;
    }

    /// The lock is released, or somebody else has it: the next owner has a token above the rest.
    void drop_rest() noexcept
    {
        end_run();
        next_ = last_ + 1;
    }

    /// The owner has had this token: the next one has a higher one.
    void pass(std::uint64_t token) noexcept
    {
        if (next_ <= token)
            drop_rest();
    }

    bool empty() const noexcept { return next_ > last_; }

    std::uint64_t take() noexcept
    {
        used_ += is_block_ ? 1 : 0;
        return next_++;
    }

private:
    std::uint64_t left() const noexcept { return last_ + 1 - next_; }

    // The next block is as long as the number of tokens that this run of blocks used. The blocks
    // after it are half as long as all before.
    void end_run() noexcept
    {
        if (used_ != 0)
            size_ = std::max(used_, smallest);
        used_ = 0;
    }

    std::uint64_t next_ = 1;
    std::uint64_t last_ = 0;
    std::uint64_t used_ = 0;  ///< of blocks, since tokens were left over
    std::uint64_t size_ = 0;  ///< used by the last run of blocks that used any; 0: none has
    bool is_block_ = false;   ///< there was more than one after the last draw
};

}  // namespace colock::decide
