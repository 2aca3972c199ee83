#pragma once

#include <cstdint>

namespace bench {

/// Calls of malloc and its relatives, and the bytes that they asked for.
struct allocation_count {
    std::int64_t calls = 0;
    std::int64_t bytes = 0;

    allocation_count& operator+=(allocation_count const& more) noexcept
    {
        calls += more.calls;
        bytes += more.bytes;
        return *this;
    }

    friend allocation_count operator-(allocation_count a, allocation_count const& b) noexcept
    {
        return {a.calls - b.calls, a.bytes - b.bytes};
    }
};

/// What this thread has allocated so far. It stays zero in a program without counting_malloc.cpp.
extern constinit thread_local allocation_count allocated;

}  // namespace bench
