#pragma once

#include <colock/observer.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// Counts what a client does, by key, and tells the observer of the test's own config as well.
class event_counter final : public observer {
public:
    using counts = std::map<std::string, std::size_t, std::less<>>;

    explicit event_counter(std::shared_ptr<observer> next) : next_{std::move(next)} {}

    counts times_acquired, times_released, times_lost;

    /// A hold has ended.
    std::function<void()> on_end = [] {};

    void on_event(client_event const& what) noexcept override
    {
        std::visit(
            overloaded{
                [this](events::acquired const& e) { add(times_acquired, e.name); },
                [this](events::released const& e) { add(times_released, e.name); },
                [this](events::lost const& e) { add(times_lost, e.name); },
                [this](events::found_lost const& e) { add(times_lost, e.name); },
                [](auto const&) {}},
            what
        );
        if (next_)
            next_->on_event(what);
        if (std::holds_alternative<events::released>(what) ||
            std::holds_alternative<events::lost>(what))
            on_end();
    }

private:
    static void add(counts& to, std::string_view name) { ++to[std::string{name}]; }

    std::shared_ptr<observer> next_;
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
