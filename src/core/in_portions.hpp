#pragma once

#include "base/timer.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colock {

/// On the strand: does `each` for 0 to `count` - 1, so many in one turn of the strand, and then
/// `after`. So the first steps are on their way while the rest is made, and nobody else on the
/// strand waits for all. It can fail only by allocation, and may not be left half done.
template <class Each, class After>
void in_portions(
    strand_type const& strand,
    std::size_t count,
    std::size_t portion,
    Each each,
    After after,
    std::size_t from = 0
) noexcept
{
    auto const to = std::min(count, from + portion);
    for (; from != to; ++from)
        each(from);
    if (to == count)
        return after();
    asio::post(
        strand,
        [strand, count, portion, each = std::move(each), after = std::move(after), to]() mutable {
            in_portions(strand, count, portion, std::move(each), std::move(after), to);
        }
    );
}

}  // namespace colock
