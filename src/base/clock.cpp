#include "base/clock.hpp"

#include <atomic>

namespace colock {

namespace {
std::atomic<clock::rep> faked{0};
std::atomic<clock::rep> skipped{0};
}  // namespace

clock::time_point clock::now() noexcept
{
    if (auto const ticks = faked.load(std::memory_order_relaxed); ticks != 0) [[unlikely]]
        return time_point{duration{ticks}};
    return base::now() + duration{skipped.load(std::memory_order_relaxed)};
}

void clock::fake(time_point now) noexcept
{
    faked.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

bool clock::is_fake() noexcept { return faked.load(std::memory_order_relaxed) != 0; }

void skip_time(clock::duration time) noexcept
{
    skipped.fetch_add(time.count(), std::memory_order_relaxed);
}

}  // namespace colock
