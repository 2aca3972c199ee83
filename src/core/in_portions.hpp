#pragma once

#include "base/timer.hpp"
#include "redis/transport.hpp"
#include <colock/config.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace colock {

/// How many names a call for many has in one turn of the strand. In a cluster all: a script call
/// has the names of one slot, and so it has as many of them as there are.
inline std::size_t portion(config const& of) noexcept
{
    bool const is_cluster = of.topology == topology::cluster;
    return is_cluster ? std::numeric_limits<std::size_t>::max() : largest_call;
}

/// On the strand: does `each` for 0 to `count` - 1, so many in one turn of the strand, and then
/// `after`. So the first steps are on their way while the rest is made, and nobody else on the
/// strand waits for all, unless one portion is all. It can fail only by allocation, and may not be
/// left half done.
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
    auto const to = from + std::min(count - from, portion);
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
