#pragma once

#include <colock/observer.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// Counts what a client does, by key, and tells the observer of the test's own config as well.
class event_counter final : public observer {
public:
    using error_code = boost::system::error_code;
    using counts = std::map<std::string, std::size_t, std::less<>>;

    explicit event_counter(std::shared_ptr<observer> next)
        : next_{next ? std::move(next) : std::make_shared<detail::silent_observer>()}
    {}

    counts times_acquired, times_released, times_lost;

    /// A hold has ended.
    std::function<void()> on_end = [] {};

    void acquired(std::string_view n, microseconds waited, std::uint32_t attempts) noexcept override
    {
        ++times_acquired[std::string{n}];
        next_->acquired(n, waited, attempts);
    }
    void released(std::string_view n, microseconds held) noexcept override
    {
        ++times_released[std::string{n}];
        next_->released(n, held);
        on_end();
    }
    void lost(std::string_view n, error_code const& why) noexcept override
    {
        ++times_lost[std::string{n}];
        next_->lost(n, why);
        on_end();
    }

    void waiting(std::string_view n, milliseconds lease) noexcept override
    {
        next_->waiting(n, lease);
    }
    void no_permits_set(std::string_view n) noexcept override { next_->no_permits_set(n); }
    void gave_up(std::string_view n, microseconds waited, std::uint32_t attempts) noexcept override
    {
        next_->gave_up(n, waited, attempts);
    }
    void cancelled(
        std::string_view n, microseconds waited, std::uint32_t attempts
    ) noexcept override
    {
        next_->cancelled(n, waited, attempts);
    }
    void acquiring(acquire_step const& step) noexcept override { next_->acquiring(step); }
    void renewed(std::string_view n, milliseconds valid) noexcept override
    {
        next_->renewed(n, valid);
    }
    void renew_failed(std::string_view n, error_code const& why) noexcept override
    {
        next_->renew_failed(n, why);
    }
    void found_lost(std::string_view n) noexcept override
    {
        ++times_lost[std::string{n}];
        next_->found_lost(n);
    }
    void handed_over(std::string_view n) noexcept override { next_->handed_over(n); }
    void link_up(std::size_t link, std::uint64_t epoch) noexcept override
    {
        next_->link_up(link, epoch);
    }
    void link_down(std::size_t link, error_code const& why) noexcept override
    {
        next_->link_down(link, why);
    }
    void subscription_failed(std::string_view c, error_code const& why) noexcept override
    {
        next_->subscription_failed(c, why);
    }

private:
    std::shared_ptr<observer> next_;
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
