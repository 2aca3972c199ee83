// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Replaces operator new of the whole program by one that counts.
#include "support/thread_sanitizer.hpp"
#include "unit/resp/allocations.hpp"

#include <cstdlib>
#include <new>

namespace colock::test {

namespace {

thread_local allocations counted;
thread_local std::size_t refused_one = 0;  // by its count

}  // namespace

allocations allocations::so_far() noexcept { return counted; }

void allocations::refuse_after(std::size_t granted) noexcept
{
    refused_one = counted.count + granted + 1;
}

}  // namespace colock::test

#ifndef COLOCK_THREAD_SANITIZER
void* operator new(std::size_t size)
{
    ++colock::test::counted.count;
    colock::test::counted.bytes += size;
    if (colock::test::counted.count == colock::test::refused_one)
        throw std::bad_alloc{};
    if (auto* const memory = std::malloc(size == 0 ? 1 : size))
        return memory;
    throw std::bad_alloc{};
}

// The default one of these calls the one above, but a sanitizer's own does not.
void* operator new(std::size_t size, std::nothrow_t const&) noexcept
{
    try {
        return operator new(size);
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::nothrow_t const&) noexcept { std::free(memory); }
#endif
