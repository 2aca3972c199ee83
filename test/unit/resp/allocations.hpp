// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>

namespace colock::test {

/// What operator new was asked for, in this thread. Under the thread sanitizer nothing is counted
/// or refused.
struct allocations {
    std::size_t count = 0;
    std::size_t bytes = 0;

    static allocations so_far() noexcept;

    /// The next but so many finds no memory.
    static void refuse_after(std::size_t granted) noexcept;

    allocations since(allocations before) const noexcept
    {
        return {count - before.count, bytes - before.bytes};
    }
};

}  // namespace colock::test
