#include "base/clock.hpp"

#include <atomic>
#include <ctime>

namespace colock {

namespace {

std::atomic<clock::rep> faked{0};
std::atomic<clock::rep> skipped{0};
std::atomic<clock::rep> earliest{never.time_since_epoch().count()};

std::atomic<clock::rep> slept{0};  ///< as far as it has been noticed
std::atomic<clock::rep> awake_since{clock::time_point::min().time_since_epoch().count()};

/// A difference that grows by less is the time between the two looks.
constexpr milliseconds shortest_suspension{1};

/// The time since the machine was started, with the time in which it was suspended.
clock::duration since_start() noexcept
{
#ifdef CLOCK_BOOTTIME
    std::timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
#else
    return clock::base::now().time_since_epoch();
#endif
}

/// How far the steady clock is behind.
struct lag {
    clock::duration most;
    clock::duration inexact_by;  ///< it is less by this at most

    static lag look() noexcept
    {
        lag best{{}, clock::duration::max()};
        for (int tries = 0; tries != 3 && best.inexact_by > shortest_suspension / 10; ++tries) {
            auto const before = clock::base::now();
            auto const counted = since_start();
            auto const took = clock::base::now() - before;
            if (took < best.inexact_by)
                best = {counted - before.time_since_epoch(), took};
        }
        return best;
    }
};

/// When this process began. As the greatest possible lag, so that the clock is never ahead of the
/// steady one.
clock::duration lag_at_begin() noexcept
{
    static auto const at_begin = lag::look().most;
    return at_begin;
}

void look_for_suspension() noexcept
{
    if (clock::is_fake())
        return;
    auto const begin = lag_at_begin();
    auto known = slept.load(std::memory_order_relaxed);
    // Nearly always that is all, and it has no third look at a clock.
    auto const before = clock::base::now();
    auto const at_most = since_start() - before.time_since_epoch() - begin;
    if (at_most <= clock::duration{known} + shortest_suspension)
        return;
    auto const now = lag::look();
    auto const found = (now.most - begin).count();
    auto const noise = clock::duration{shortest_suspension + now.inexact_by}.count();
    while (found > known + noise) {
        if (slept.compare_exchange_weak(known, found, std::memory_order_relaxed)) {
            awake_since.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
            return;
        }
    }
}

}  // namespace

clock::time_point clock::now() noexcept
{
    if (auto const ticks = faked.load(std::memory_order_relaxed); ticks != 0) [[unlikely]]
        return time_point{duration{ticks}};
    auto const counted = since_start() - lag_at_begin();
    return time_point{counted + duration{skipped.load(std::memory_order_relaxed)}};
}

clock::duration clock::suspended() noexcept
{
    look_for_suspension();
    return duration{slept.load(std::memory_order_relaxed)};
}

clock::time_point clock::resumed() noexcept
{
    look_for_suspension();
    return time_point{duration{awake_since.load(std::memory_order_relaxed)}};
}

void clock::fake_suspension(duration time, time_point resumed) noexcept
{
    slept.store(time.count(), std::memory_order_relaxed);
    awake_since.store(resumed.time_since_epoch().count(), std::memory_order_relaxed);
}

void clock::fake(time_point now) noexcept
{
    if (now == time_point{})  // nothing of what was faked stays
        fake_suspension({}, time_point::min());
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
