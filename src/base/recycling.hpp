#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace colock {

/// Memory for the objects of each acquire: a freed block is kept for the next request on its
/// thread, so that locks in steady use cost no allocation. A thread keeps at most `most_kept`
/// bytes, and one block of each size. Under a sanitizer nothing is kept: it must see each block
/// freed.
class recycled_memory {
public:
    static constexpr std::size_t step = 16;
    static constexpr std::size_t largest = 1536;  ///< up to half a step more
    static constexpr std::size_t most_kept = std::size_t{16} << 20U;

    static void* allocate(std::size_t size);
    static void release(void* block, std::size_t size) noexcept;
};

/// Objects of derived classes have such memory.
struct recycled {
    static void* operator new(std::size_t size) { return recycled_memory::allocate(size); }
    static void operator delete(void* block, std::size_t size) noexcept
    {
        recycled_memory::release(block, size);
    }

protected:
    ~recycled() = default;
};

template <class T>
class recycling_allocator {
public:
    using value_type = T;

    recycling_allocator() = default;
    template <class U>
    // NOLINTNEXTLINE(google-explicit-constructor): as allocators do
    recycling_allocator(recycling_allocator<U> const&) noexcept
    {}

    T* allocate(std::size_t n)
    {
        static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer, as in a table of buckets
        return static_cast<T*>(recycled_memory::allocate(n * sizeof(T)));
    }
    void deallocate(T* block, std::size_t n) noexcept
    {
        // NOLINTNEXTLINE(bugprone-sizeof-expression)
        recycled_memory::release(block, n * sizeof(T));
    }

    friend bool operator==(recycling_allocator, recycling_allocator) noexcept { return true; }
};

/// For the texts of a script, which live as long as it is under way.
using recycled_string = std::basic_string<char, std::char_traits<char>, recycling_allocator<char>>;

template <class T, class... Arguments>
std::shared_ptr<T> make_recycled(Arguments&&... arguments)
{
    return std::allocate_shared<T>(recycling_allocator<T>{}, std::forward<Arguments>(arguments)...);
}

}  // namespace colock
