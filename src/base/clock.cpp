#include "base/clock.hpp"

#include <atomic>

namespace colock {

namespace {
std::atomic<clock::rep> faked{0};
std::atomic<clock::rep> skipped{0};
std::atomic<clock::rep> earliest{never.time_since_epoch().count()};
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
    earliest.store(never.time_since_epoch().count(), std::memory_order_relaxed);
}

bool clock::is_fake() noexcept { return faked.load(std::memory_order_relaxed) != 0; }

void clock::expect(time_point due) noexcept
{
    auto const ticks = due.time_since_epoch().count();
    auto known = earliest.load(std::memory_order_relaxed);
    while (ticks < known && !earliest.compare_exchange_weak(known, ticks, std::memory_order_relaxed)
    )
        ;
}

clock::time_point clock::expected() noexcept
{
    return time_point{duration{earliest.load(std::memory_order_relaxed)}};
}

void skip_time(clock::duration time) noexcept
{
    skipped.fetch_add(time.count(), std::memory_order_relaxed);
}

}  // namespace colock
