// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/observer.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// A wait for a lock or a hold of it, from its begin to its end.
struct trace_span {
    enum class kind { wait, hold };

    /// How a wait ends, and then how a hold ends.
    enum class outcome { acquired, gave_up, cancelled, released, lost };

    kind what;
    std::string_view name;  ///< of the lock, valid during the call
    outcome how;
    std::chrono::system_clock::time_point begin, end;
    std::uint32_t attempts = 0;       ///< of a wait: the scripts that the client sent
    boost::system::error_code why{};  ///< of a lost hold
};

/// The part of a tracing library that `tracing_observer` needs: a function object that takes a span
/// that has ended, and perhaps the identity of another span to link it to, and returns its own
/// identity. It must not block.
template <class T>
concept span_recorder = requires(
    T& record, trace_span const& span, std::optional<typename T::span_identity> const& link
) {
    requires std::copyable<typename T::span_identity>;
    {
        record(span, link)
    } -> std::convertible_to<typename T::span_identity>;
};

/// An observer that makes spans of waits and holds, for OpenTelemetry or another tracing library.
///
///     struct recorder {                              // over opentelemetry::trace::Tracer
///         using span_identity = …;                   // its SpanContext
///         span_identity operator()(colock::trace_span const&, std::optional<span_identity>
///         const&);
///     };
///     settings.observer = std::make_shared<colock::tracing_observer<recorder>>(recorder{…});
///
/// It includes no header of such a library: the recorder is yours. docs/metrics.md says which field
/// becomes what in OpenTelemetry.
///
/// \par Effects
///   A wait becomes a span when it ends, and a hold when it is released or lost, so a hold under
///   way is not shown. If a hold of the same name in this process ended during a wait, the span of
///   the wait is linked to the span of that hold: what the waiter has waited for. A holder in
///   another process is not known. The hold of a wait is in no span of the caller's, because the
///   client reports it on its strand.
///
///   It keeps the last hold of up to `most_names` names.
///
/// \par Thread-safety
///   Safe: several clients, on several threads, may share one. It calls the recorder under a mutex.
template <span_recorder Recorder>
class tracing_observer final : public observer {
public:
    static constexpr std::size_t most_names = 1'024;

    /// Passes each event on to `next`, once it is recorded.
    explicit tracing_observer(Recorder recorder, std::shared_ptr<observer> next = {})
        : record_{std::move(recorder)}
        , next_{next ? std::move(next) : std::make_shared<detail::silent_observer>()}
    {}

    void acquired(
        std::string_view name, microseconds waited, std::uint32_t attempts
    ) noexcept override
    {
        end_wait(name, waited, attempts, trace_span::outcome::acquired);
        next_->acquired(name, waited, attempts);
    }

    void gave_up(
        std::string_view name, microseconds waited, std::uint32_t attempts
    ) noexcept override
    {
        end_wait(name, waited, attempts, trace_span::outcome::gave_up);
        next_->gave_up(name, waited, attempts);
    }

    void cancelled(
        std::string_view name, microseconds waited, std::uint32_t attempts
    ) noexcept override
    {
        end_wait(name, waited, attempts, trace_span::outcome::cancelled);
        next_->cancelled(name, waited, attempts);
    }

    void released(std::string_view name, microseconds held) noexcept override
    {
        auto const now = wall_clock::now();
        end_hold(
            name, {trace_span::kind::hold, name, trace_span::outcome::released, now - held, now}
        );
        next_->released(name, held);
    }

    // The event does not say how long it was held: since the last acquire of that name.
    void lost(std::string_view name, boost::system::error_code const& why) noexcept override
    {
        end_hold(
            name,
            {trace_span::kind::hold, name, trace_span::outcome::lost, {}, wall_clock::now(), 0, why}
        );
        next_->lost(name, why);
    }

    void acquiring(acquire_step const& step) noexcept override { next_->acquiring(step); }
    void waiting(std::string_view name, milliseconds lease) noexcept override
    {
        next_->waiting(name, lease);
    }
    void no_permits_set(std::string_view name) noexcept override { next_->no_permits_set(name); }
    void renewed(std::string_view name, milliseconds valid_for) noexcept override
    {
        next_->renewed(name, valid_for);
    }
    void renew_failed(std::string_view name, boost::system::error_code const& why) noexcept override
    {
        next_->renew_failed(name, why);
    }
    void found_lost(std::string_view name) noexcept override { next_->found_lost(name); }
    void handed_over(std::string_view name) noexcept override { next_->handed_over(name); }
    void link_up(std::size_t link, std::uint64_t epoch) noexcept override
    {
        next_->link_up(link, epoch);
    }
    void link_down(std::size_t link, boost::system::error_code const& why) noexcept override
    {
        next_->link_down(link, why);
    }
    void subscription_failed(
        std::string_view channel, boost::system::error_code const& why
    ) noexcept override
    {
        next_->subscription_failed(channel, why);
    }

private:
    using wall_clock = std::chrono::system_clock;
    using span_identity = typename Recorder::span_identity;

    /// \cond
    /// The last that is known of a name.
    struct name_state {
        std::optional<wall_clock::time_point> acquired{};
        wall_clock::time_point hold_ended{};
        std::optional<span_identity> hold{};  ///< the last that has ended
    };
    /// \endcond

    void end_wait(
        std::string_view name, microseconds waited, std::uint32_t attempts, trace_span::outcome how
    ) noexcept
    {
        auto const now = wall_clock::now();
        guarded([&] {
            auto& known = state_of(name);
            bool const is_cause = known.hold && known.hold_ended >= now - waited;
            record_(
                trace_span{trace_span::kind::wait, name, how, now - waited, now, attempts},
                is_cause ? known.hold : std::optional<span_identity>{}
            );
            if (how == trace_span::outcome::acquired)
                known.acquired = now;
        });
    }

    void end_hold(std::string_view name, trace_span span) noexcept
    {
        guarded([&] {
            auto& known = state_of(name);
            if (span.how == trace_span::outcome::lost)
                span.begin = known.acquired.value_or(span.end);
            known.hold = record_(std::as_const(span), std::optional<span_identity>{});
            known.hold_ended = span.end;
        });
    }

    name_state& state_of(std::string_view name)
    {
        if (auto const at = names_.find(name); at != names_.end())
            return at->second;
        if (order_.size() == most_names) {
            names_.erase(order_.front());
            order_.pop_front();
        }
        order_.emplace_back(name);
        return names_[order_.back()];
    }

    /// A recorder that throws, or memory that is short, must not end a lock.
    template <class Act>
    void guarded(Act const& act) noexcept
    {
        try {
            std::lock_guard const locked{mutex_};
            act();
        } catch (...) {
            // The span is missing.
        }
    }

    Recorder record_;
    std::shared_ptr<observer> next_;
    std::mutex mutex_;
    std::map<std::string, name_state, std::less<>> names_;
    std::deque<std::string> order_;  ///< of the names, as they came
};

}  // namespace v0_3
}  // namespace colock
