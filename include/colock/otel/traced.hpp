// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/hold.hpp>
#include <colock/otel/database.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <opentelemetry/context/context.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/default_span.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/span_metadata.h>
#include <opentelemetry/trace/span_startoptions.h>
#include <opentelemetry/trace/tracer.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace otel {

/// \cond
namespace detail {

namespace asio = boost::asio;
namespace trace = opentelemetry::trace;
using opentelemetry::context::Context;
using span_ptr = opentelemetry::nostd::shared_ptr<trace::Span>;

/// An error of an operation, and its text.
struct told_error {
    told_error() = default;
    told_error(error_code why) : code{why}, text{why ? why.message() : std::string{}} {}
    told_error(error e) : told_error{make_error_code(e)} {}
    told_error(error_code why, std::string said) : code{why}, text{std::move(said)} {}
    /// Of an operation that throws. An exception without a code is a failure nevertheless.
    told_error(std::exception_ptr const& thrown)
    {
        if (!thrown)
            return;
        try {
            std::rethrow_exception(thrown);
        } catch (boost::system::system_error const& e) {
            code = e.code();
            text = e.what();
        } catch (std::exception const& e) {
            code = make_error_code(boost::system::errc::state_not_recoverable);
            text = e.what();
        } catch (...) {
            code = make_error_code(boost::system::errc::state_not_recoverable);
            text = "an unknown exception";
        }
    }

    error_code code{};
    std::string text{};
};

inline void fail(trace::Span& span, told_error const& why)
{
    auto const type = error_type(why.code);
    auto const& message = why.text;
    span.SetAttribute("error.type", view(type));
    span.SetStatus(trace::StatusCode::kError, view(message));
}

/// A context whose span is the parent of new ones. Without a span in it they have no parent: not
/// even the span of the thread that happens to start them.
inline Context as_parent(Context of) { return of.SetValue(trace::kIsRootSpanKey, true); }

/// The copies of a tracer share it.
class source {
public:
    source(config const& settings, opentelemetry::nostd::shared_ptr<trace::Tracer> to)
        : tracer_{std::move(to)}
        , server_{settings}
    {}

    /// Begins the span of a wait, which is linked to the hold of this process that it stands
    /// behind.
    span_ptr begin_wait(Context const& parent, std::string const& name)
    {
        std::vector<std::pair<trace::SpanContext, attributes>> behind;
        if (auto const holder = holder_of(name))
            behind.emplace_back(*holder, attributes{});
        return tracer_->StartSpan(
            "colock.wait",
            about_call("acquire", name),
            behind,
            options(trace::SpanKind::kClient, parent)
        );
    }

    span_ptr begin_release(Context const& parent, std::string const& name)
    {
        return tracer_->StartSpan(
            "colock.release", about_call("release", name), options(trace::SpanKind::kClient, parent)
        );
    }

    span_ptr begin_hold(Context const& parent, std::string const& name, std::int64_t token)
    {
        attributes about{{"colock.name", view(name)}};
        if (token != 0)
            about.emplace_back("colock.fencing_token", token);
        auto made =
            tracer_->StartSpan("colock.hold", about, options(trace::SpanKind::kInternal, parent));
        if (auto const made_as = made->GetContext(); made_as.IsValid()) {
            std::lock_guard const locked{mutex_};
            holders_.insert_or_assign(name, made_as);
        }
        return made;
    }

    void forget(std::string const& name, trace::SpanContext const& of)
    {
        std::lock_guard const locked{mutex_};
        if (auto const at = holders_.find(name);
            at != holders_.end() && at->second.span_id() == of.span_id())
            holders_.erase(at);
    }

private:
    attributes about_call(char const* operation, std::string const& name) const
    {
        auto about = server_.about(operation);
        about.emplace_back("colock.name", view(name));
        return about;
    }

    static trace::StartSpanOptions options(trace::SpanKind kind, Context const& parent)
    {
        trace::StartSpanOptions made;
        made.kind = kind;
        made.parent = parent;
        return made;
    }

    std::optional<trace::SpanContext> holder_of(std::string const& name)
    {
        std::lock_guard const locked{mutex_};
        auto const at = holders_.find(name);
        return at == holders_.end() ? std::nullopt : std::optional{at->second};
    }

    opentelemetry::nostd::shared_ptr<trace::Tracer> tracer_;
    database const server_;
    std::mutex mutex_;
    std::map<std::string, trace::SpanContext> holders_;  ///< the last that began, of living holds
};

/// The spans of one caller.
struct origin {
    std::shared_ptr<source> with;
    Context parent;
    std::string name;  ///< of the lock
};

/// The span of a hold. It ends once: by the release, the drop or the loss, whichever comes first.
class hold_span {
public:
    hold_span(origin of, std::int64_t token)
        : of_{std::move(of)}
        , span_{of_.with->begin_hold(of_.parent, of_.name, token)}
    {}

    ~hold_span() { of_.with->forget(of_.name, span_->GetContext()); }
    hold_span(hold_span const&) = delete;
    hold_span& operator=(hold_span const&) = delete;

    span_ptr const& span() const noexcept { return span_; }

    void end(char const* outcome, told_error const& why = {})
    {
        if (ended_.exchange(true))
            return;
        of_.with->forget(of_.name, span_->GetContext());
        span_->SetAttribute("colock.outcome", outcome);
        if (why.code)
            fail(*span_, why);
        span_->End();
    }

    /// The notice that the hold is over, which says no more than that it was not lost.
    void end_otherwise() { end(is_dropped_ ? "dropped" : "released"); }

    /// A hold that was over before has its notice under way.
    void drop(bool is_held)
    {
        is_dropped_ = true;
        if (is_held)
            end("dropped");
    }

    /// The hold ends with the call.
    span_ptr begin_release()
    {
        end("released");
        return of_.with->begin_release(of_.parent, of_.name);
    }

    static void end_release(trace::Span& span, told_error const& why)
    {
        if (why.code && why.code != asio::error::operation_aborted)
            fail(span, why);
        span.End();
    }

private:
    origin of_;
    span_ptr span_;
    std::atomic<bool> ended_{false}, is_dropped_{false};
};

template <class Operation>
struct release_initiation {
    std::shared_ptr<hold_span> of;  ///< none: without spans
    Operation operation;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        auto span = of ? of->begin_release() : span_ptr{};
        auto const answered = [span = std::move(span)](std::exception_ptr thrown) {
            if (span)
                hold_span::end_release(*span, thrown);
            return asio::deferred.values(std::move(thrown));
        };
        std::move(operation)(asio::deferred(answered))(std::forward<Handler>(handler));
    }
};

template <class Held>
concept holdable = requires(Held& held) {
    held.lost(asio::deferred);
    held.release(asio::deferred);
};

}  // namespace detail
/// \endcond

/// A hold, permit or leadership, and its span. Use it as the hold itself: `held->valid_for(1s)`,
/// `*held`. Its `release` is its own, because that has a span, too.
///
/// \par Effects
///   The span begins with the hold. It ends with `release`, with the destructor, or when the hold
///   is lost; the attribute `colock.outcome` says which. A loss makes its status an error. Its
///   parent is that of the wait.
/// \par Thread-safety
///   As of the hold.
template <class Held>
class [[nodiscard]] traced {
public:
    /// Empty.
    traced() noexcept = default;

    traced(traced&&) noexcept = default;

    traced& operator=(traced&& other) noexcept
    {
        if (this != &other) {
            drop();
            held_ = std::move(other.held_);
            span_ = std::move(other.span_);
        }
        return *this;
    }

    /// Releases in the background, as the hold does.
    ~traced() { drop(); }

    Held& operator*() noexcept { return held_; }
    Held const& operator*() const noexcept { return held_; }
    Held* operator->() noexcept { return &held_; }
    Held const* operator->() const noexcept { return &held_; }

    /// For work that takes a reference to the hold.
    operator Held&() noexcept { return held_; }

    /// As of the hold.
    explicit operator bool() const noexcept { return static_cast<bool>(held_); }

    /// The span of the hold: the parent of what is done under it. One without effect if this is
    /// empty.
    opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> span() const
    {
        namespace trace = opentelemetry::trace;
        if (span_)
            return span_->span();
        return detail::span_ptr{new trace::DefaultSpan{trace::SpanContext::GetInvalid()}};
    }

    /// Releases the hold as `hold::release` does, with a span `colock.release`. Gives a deferred
    /// operation, which throws: await it, or call it with another completion token.
    auto release()
    {
        auto operation = held_.release();
        detail::release_initiation<decltype(operation)> begin{span_, std::move(operation)};
        boost::asio::deferred_t token;
        return boost::asio::async_initiate<boost::asio::deferred_t, void(std::exception_ptr)>(
            std::move(begin), token
        );
    }

    /// For `tracer`.
    traced(Held held, detail::origin of) : held_{std::move(held)}
    {
        std::int64_t token = 0;
        if constexpr (requires { held_.fencing_token(); })
            token = static_cast<std::int64_t>(held_.fencing_token());
        span_ = std::make_shared<detail::hold_span>(std::move(of), token);
        if (span_->span()->IsRecording())
            held_.lost([span = span_](error_code ec) {
                if (!ec)
                    span->end("lost", error::lost);
                else if (ec == error::closed)
                    span->end("closed");
                else
                    span->end_otherwise();
            });
    }

    /// For `tracer`.
    std::shared_ptr<detail::hold_span> const& state() const noexcept { return span_; }

private:
    void drop()
    {
        if (span_)
            span_->drop(static_cast<bool>(held_));
    }

    Held held_;
    std::shared_ptr<detail::hold_span> span_;
};

}  // namespace otel
}  // namespace v0_3
}  // namespace colock
