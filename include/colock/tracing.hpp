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
#include <variant>

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
        , next_{std::move(next)}
    {}

    void on_event(client_event const& what) noexcept override
    {
        using outcome = trace_span::outcome;
        std::visit(
            overloaded{
                [this](events::acquired const& e) { end_wait(e, outcome::acquired); },
                [this](events::gave_up const& e) { end_wait(e, outcome::gave_up); },
                [this](events::cancelled const& e) { end_wait(e, outcome::cancelled); },
                [this](events::released const& e) {
                    auto const now = wall_clock::now();
                    end_hold({trace_span::kind::hold, e.name, outcome::released, now - e.held, now}
                    );
                },
                // The event does not say how long it was held: since the last acquire of that name.
                [this](events::lost const& e) {
                    end_hold(
                        {trace_span::kind::hold,
                         e.name,
                         outcome::lost,
                         {},
                         wall_clock::now(),
                         0,
                         e.why}
                    );
                },
                [](auto const&) {}},
            what
        );
        if (next_)
            next_->on_event(what);
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

    template <class Event>
    void end_wait(Event const& e, trace_span::outcome how) noexcept
    {
        auto const now = wall_clock::now();
        auto const begin = now - e.waited;
        guarded([&] {
            auto& known = state_of(e.name);
            bool const is_cause = known.hold && known.hold_ended >= begin;
            record_(
                trace_span{trace_span::kind::wait, e.name, how, begin, now, e.attempts},
                is_cause ? known.hold : std::optional<span_identity>{}
            );
            if (how == trace_span::outcome::acquired)
                known.acquired = now;
        });
    }

    void end_hold(trace_span span) noexcept
    {
        guarded([&] {
            auto& known = state_of(span.name);
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
