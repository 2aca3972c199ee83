#pragma once

#include "base/timer.hpp"
#include "redis/transport.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colock {

/// On the strand: does `each` for 0 to `count` - 1, and then `after`. What goes in one call is done
/// in one turn of the strand, so that the first steps are on their way while the rest is made, and
/// nobody else on the strand waits for all.
template <class Each, class After>
void in_portions(
    strand_type const& strand, std::size_t count, Each each, After after, std::size_t from = 0
)
{
    auto const to = std::min(count, from + largest_call);
    for (; from != to; ++from)
        each(from);
    if (to == count)
        return after();
    asio::post(
        strand,
        [strand, count, each = std::move(each), after = std::move(after), to]() mutable {
            in_portions(strand, count, std::move(each), std::move(after), to);
        }
    );
}

}  // namespace colock
