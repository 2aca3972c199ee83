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

    void renewed(std::string_view, milliseconds) noexcept override { ++renewed_; }
    void lost(std::string_view, boost::system::error_code const&) noexcept override { ++lost_; }

private:
    std::atomic<std::int64_t> renewed_{0};
    std::atomic<std::int64_t> lost_{0};
};

}  // namespace bench
