#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace colock::decide {

/// How long a script is on its way, there and back.
class round_trip {
public:
    using duration = std::chrono::steady_clock::duration;

    /// Usually: smoothed over the last scripts. Zero before the first one. Any thread may ask.
    duration usual() const noexcept { return usual_.load(std::memory_order_relaxed); }

    /// The shortest so far: where the server has nothing else to do.
    duration least() const noexcept { return std::min(least_, usual()); }

    /// A sample counts up to twice the last value: a longer one has another cause, such as a pause
    /// of the process or a server that stood still.
    void note(duration sample) noexcept
    {
        auto const before = usual();
        auto const now =
            before == duration{} ? sample : before + (std::min(sample, 2 * before) - before) / 8;
        usual_.store(now, std::memory_order_relaxed);
        least_ = std::min(least_, sample);
    }

private:
    std::atomic<duration> usual_{};
    duration least_ = duration::max();
};

}  // namespace colock::decide
