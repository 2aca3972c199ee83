#pragma once

#include "base/timer.hpp"

#include <functional>
#include <memory>

namespace colock {

/// Tells at once that the machine runs again after a suspension.
///
/// The timers of Asio stand still while the machine is suspended, and go on with the rest of their
/// time. So what was due meanwhile would come late, by as much as was left.
class resume_notice {
public:
    explicit resume_notice(strand_type const& strand);
    ~resume_notice();

    /// Calls `tell` on the strand whenever the machine runs again, or its wall clock was set, until
    /// `stop`. `tell` has to keep this alive. Does nothing where the system cannot tell, and under
    /// a fake time.
    void start(std::function<void()> tell);
    void stop() noexcept;

private:
    struct source;  ///< as the system has it

    std::unique_ptr<source> source_;
};

}  // namespace colock
