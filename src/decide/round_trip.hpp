#pragma once

#include <algorithm>
#include <chrono>

namespace colock::decide {

/// How long a script is on its way, there and back.
class round_trip {
public:
    using duration = std::chrono::steady_clock::duration;

    /// Usually: smoothed over the last scripts. Zero before the first one.
    duration usual() const noexcept { return usual_; }

    /// The shortest so far: where the server has nothing else to do.
    duration least() const noexcept { return std::min(least_, usual_); }

    /// A sample counts up to twice the last value: a longer one has another cause, such as a pause
    /// of the process or a server that stood still.
    void note(duration sample) noexcept
    {
        usual_ =
            usual_ == duration{} ? sample : usual_ + (std::min(sample, 2 * usual_) - usual_) / 8;
        least_ = std::min(least_, sample);
    }

private:
    duration usual_{};
    duration least_ = duration::max();
};

}  // namespace colock::decide
