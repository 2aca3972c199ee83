// Counts what colock-bench allocates. Asio asks aligned_alloc for its handlers and the rest asks
// operator new, which asks malloc; so the functions of the C library are the place to count.
#include "allocations.hpp"

#include <cerrno>
#include <cstdlib>

#ifdef __GLIBC__

// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp)
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp)

namespace {

void note(std::size_t bytes) noexcept
{
    ++bench::allocated.calls;
    bench::allocated.bytes += static_cast<std::int64_t>(bytes);
}

}  // namespace

// All of them take from glibc's own heap, so glibc's free() fits them.
extern "C" {

void* malloc(std::size_t bytes) noexcept
{
    note(bytes);
    return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept
{
    note(count * bytes);
    return __libc_calloc(count, bytes);
}

void* realloc(void* old, std::size_t bytes) noexcept
{
    note(bytes);
    return __libc_realloc(old, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept
{
    note(bytes);
    return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept
{
    return memalign(alignment, bytes);
}

int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) noexcept
{
    void* const found = memalign(alignment, bytes);
    if (!found)
        return ENOMEM;
    *into = found;
    return 0;
}

}  // extern "C"

#endif
