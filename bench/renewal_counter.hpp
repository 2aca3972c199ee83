#pragma once

#include <colock/observer.hpp>

#include <atomic>
#include <cstdint>
#include <variant>

namespace bench {

/// Counts what the watchdog does.
class renewal_counter : public colock::observer {
public:
    std::int64_t renewals() const noexcept { return renewed_; }
    std::int64_t lost() const noexcept { return lost_; }

    void on_event(colock::client_event const& what) noexcept override
    {
        if (std::holds_alternative<colock::events::renewed>(what))
            ++renewed_;
        else if (std::holds_alternative<colock::events::lost>(what))
            ++lost_;
    }

private:
    std::atomic<std::int64_t> renewed_{0};
    std::atomic<std::int64_t> lost_{0};
};

}  // namespace bench
