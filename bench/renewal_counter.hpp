#pragma once

#include <colock/observer.hpp>

#include <atomic>
#include <cstdint>

namespace bench {

/// Counts what the watchdog does.
class renewal_counter : public colock::observer {
public:
    std::int64_t renewals() const noexcept { return renewed_; }
    std::int64_t lost() const noexcept { return lost_; }

    bool wants_each_renewal() const noexcept override { return false; }
    void renewed_many(std::size_t holds, milliseconds) noexcept override
    {
        renewed_ += static_cast<std::int64_t>(holds);
    }
    void lost(std::string_view, boost::system::error_code const&) noexcept override { ++lost_; }

private:
    std::atomic<std::int64_t> renewed_{0};
    std::atomic<std::int64_t> lost_{0};
};

}  // namespace bench
