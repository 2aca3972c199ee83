#include "base/recycling.hpp"

#include <array>

// GCC tells by a macro, Clang by a feature.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define COLOCK_SANITIZED 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define COLOCK_SANITIZED 1
#    endif
#endif

namespace colock {

#ifdef COLOCK_SANITIZED

void* recycled_memory::allocate(std::size_t size) { return ::operator new(size); }
void recycled_memory::release(void* block, std::size_t) noexcept { ::operator delete(block); }

#else

namespace {

struct free_block {
    free_block* next;
};

struct free_list {
    free_block* first = nullptr;
    std::size_t count = 0;
};

constexpr std::size_t sizes = recycled_memory::largest / recycled_memory::step;

/// The malloc of glibc puts so much before each block, and makes a multiple of `step` of both.
constexpr std::size_t header = 8;

/// Has no destructor: it can be used while the thread's other objects are destroyed.
struct thread_memory {
    std::array<free_list, sizes> lists;
    bool is_ending;
};

constinit thread_local thread_memory kept{};

/// Frees what the thread has kept when it ends.
struct thread_end {
    ~thread_end()
    {
        kept.is_ending = true;
        for (auto& list : kept.lists)
            while (auto* const block = list.first) {
                list.first = block->next;
                ::operator delete(block);
            }
    }
};

std::size_t class_of(std::size_t size) noexcept
{
    return size <= header ? 0 : (size - header - 1) / recycled_memory::step;
}

std::size_t size_of(std::size_t which) noexcept
{
    return (which + 1) * recycled_memory::step + header;
}

}  // namespace

void* recycled_memory::allocate(std::size_t size)
{
    auto const which = class_of(size);
    if (which >= sizes)
        return ::operator new(size);
    auto& list = kept.lists[which];
    auto* const block = list.first;
    if (!block)
        return ::operator new(size_of(which));
    list.first = block->next;
    --list.count;
    return block;
}

void recycled_memory::release(void* block, std::size_t size) noexcept
{
    static thread_local thread_end const at_end;
    auto const which = class_of(size);
    if (which >= sizes || kept.is_ending || kept.lists[which].count >= most_kept / size_of(which)) {
        ::operator delete(block);
        return;
    }
    auto& list = kept.lists[which];
    list.first = ::new (block) free_block{list.first};
    ++list.count;
}

#endif

}  // namespace colock
