#include <colock/owner.hpp>

#include <atomic>

namespace colock {

owner::owner() noexcept
{
    static std::atomic<std::uint64_t> last{0};
    id_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace colock
