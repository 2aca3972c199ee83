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

constexpr std::size_t sizes = recycled_memory::largest / recycled_memory::step;

/// The malloc of glibc puts so much before each block, and makes a multiple of `step` of both.
constexpr std::size_t header = 8;

/// Has no destructor: it can be used while the thread's other objects are destroyed.
struct thread_memory {
    std::array<free_block*, sizes> first;
    std::size_t bytes;
    bool is_ending;
};

constinit thread_local thread_memory kept{};

/// Frees what the thread has kept when it ends.
struct thread_end {
    ~thread_end()
    {
        kept.is_ending = true;
        for (auto& first : kept.first)
            while (auto* const block = first) {
                first = block->next;
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
    auto& first = kept.first[which];
    auto* const block = first;
    if (!block)
        return ::operator new(size_of(which));
    first = block->next;
    kept.bytes -= size_of(which);
    return block;
}

void recycled_memory::release(void* block, std::size_t size) noexcept
{
    static thread_local thread_end const at_end;
    auto const which = class_of(size);
    bool const is_full = kept.bytes + size_of(which) > most_kept;
    if (which >= sizes || kept.is_ending || (is_full && kept.first[which])) {
        ::operator delete(block);
        return;
    }
    auto& first = kept.first[which];
    first = ::new (block) free_block{first};
    kept.bytes += size_of(which);
}

#endif

}  // namespace colock
