// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>
#include <colock/otel/traced.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <memory>
#include <opentelemetry/context/context.h>
#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_metadata.h>
#include <opentelemetry/trace/tracer.h>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace otel {

/// \cond
namespace detail {

/// The result of an operation that is traced.
template <class Result>
struct traced_result {
    using type = Result;
    static type make(Result result, origin) { return result; }
};
template <holdable Held>
struct traced_result<Held> {
    using type = traced<Held>;
    static type make(Held held, origin of) { return {std::move(held), std::move(of)}; }
};
template <holdable Held>
struct traced_result<if_acquired<Held>> {
    using type = if_acquired<traced<Held>>;
    static type make(if_acquired<Held> held, origin of)
    {
        if (!held)
            return {};
        return traced<Held>{std::move(*held), std::move(of)};
    }
};

template <class Signature>
struct traced_signature;
template <class Failure, class... Results>
struct traced_signature<void(Failure, Results...)> {
    using type = void(Failure, typename traced_result<Results>::type...);
};

template <class Result>
bool is_granted(Result const& result)
{
    if constexpr (std::is_same_v<Result, bool>)
        return result;
    else if constexpr (requires { result.has_value(); })
        return result.has_value();
    else if constexpr (requires { result.empty(); })
        return !result.empty();
    else
        return true;
}

inline void end_wait(trace::Span& span, told_error const& why, bool granted)
{
    char const* outcome = granted ? "acquired" : "gave_up";
    if (why.code)
        outcome = why.code == asio::error::operation_aborted ? "cancelled" : "failed";
    span.SetAttribute("colock.outcome", outcome);
    if (why.code && why.code != asio::error::operation_aborted)
        fail(span, why);
    span.End();
}

/// Begins the span of a wait, and ends it with the answer.
template <class Operation>
struct wait_initiation {
    origin of;
    Operation operation;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        auto span = of.with->begin_wait(of.parent, of.name);
        auto const ended = [of = std::move(of),
                            span = std::move(span
                            )]<class Failure, class... Results>(Failure why, Results... results) {
            end_wait(*span, why, (true && ... && is_granted(results)));
            if (why)
                return asio::deferred.values(why, typename traced_result<Results>::type{}...);
            return asio::deferred.values(
                why, traced_result<Results>::make(std::move(results), of)...
            );
        };
        std::move(operation)(asio::deferred(ended))(std::forward<Handler>(handler));
    }
};

/// Ends the span of a release also if that throws.
struct release_end {
    explicit release_end(trace::Span& of) : span{of} {}
    ~release_end() { hold_span::end_release(span, {answer.ec, answer.said.text()}); }
    release_end(release_end const&) = delete;
    release_end& operator=(release_end const&) = delete;

    trace::Span& span;
    colock::detail::release_answer answer{};
};

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): all of it outlives them

/// Releases after the work, as `with_lock` does, with a span of it.
template <class Held>
asio::awaitable<void> release_after_work(traced<Held>& held, std::string doing)
{
    auto const mine = co_await asio::this_coro::cancellation_state;
    if (!colock::detail::may_await(mine))
        co_return;  // the destructor releases
    auto const span = held.state()->begin_release();
    release_end end{*span};
    co_await colock::detail::release_after_work(
        *held, std::move(doing), colock::detail::late_loss::thrown, &end.answer
    );
}

template <class Held, class Work>
using traced_work = colock::detail::work_result<Work, traced<Held>>;

template <class Held, class Work>
asio::awaitable<traced_work<Held, Work>> run_and_release(
    traced<Held>& held, Work& work, std::string doing
)
{
    auto begin = [&] { return colock::detail::begin_work(work, held); };
    if constexpr (std::is_void_v<traced_work<Held, Work>>) {
        co_await guard(*held, begin);
        co_await release_after_work(held, std::move(doing));
    } else {
        auto result = co_await guard(*held, begin);
        co_await release_after_work(held, std::move(doing));
        co_return result;
    }
}

/// The hold of an operation that is traced.
template <class Operation>
struct held_by {
    template <class Failure, class Held>
    static Held of(void (*)(Failure, traced<Held>));
    template <class Failure, class Held>
    static Held of(void (*)(Failure, if_acquired<traced<Held>>));
    using type = decltype(of(static_cast<asio::completion_signature_of_t<Operation>*>(nullptr)));
};

template <class Operation, class Work>
using work_under = traced_work<typename held_by<Operation>::type, Work>;

template <class Operation, class Work>
asio::awaitable<work_under<Operation, Work>> run_with(
    Operation operation, std::string name, Work work
)
{
    auto held = co_await std::move(operation);
    co_return co_await run_and_release(held, work, "with_lock " + name);
}

template <class Operation, class Work>
asio::awaitable<colock::detail::if_run<work_under<Operation, Work>>> run_with_for(
    Operation operation, std::string name, Work work
)
{
    auto held = co_await std::move(operation);
    using result = colock::detail::if_run<work_under<Operation, Work>>;
    if (!held)
        co_return result{};
    if constexpr (std::is_void_v<work_under<Operation, Work>>) {
        co_await run_and_release(*held, work, "with_lock_for " + name);
        co_return true;
    } else {
        auto got = co_await run_and_release(*held, work, "with_lock_for " + name);
        co_return result(std::move(got));
    }
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace detail
/// \endcond

/// Makes spans of waits, holds and releases, whose parent is the span of the caller. Link
/// `colock::otel`.
///
///     colock::otel::tracer const traces{settings};      // once, beside the client
///     …
///     auto const mine = traces.under(request);          // the span of this request
///     auto held = co_await mine.acquire(lock);          // a wait, then a hold
///     …                                                 // held.span() is the parent of the work
///     co_await held.release();
///
/// \par Parents
///   An operation of a tracer from `under` has the parent that was named. Otherwise the parent is
///   the current span of the thread that calls the function. **In a coroutine name the parent:**
///   the current span belongs to a thread, and the coroutine may go on another one, or on the same
///   one after other coroutines, so keep no `Scope` across a `co_await`.
/// \par Spans
///   - `colock.wait`, of kind client: from the begin of the acquire to its end. If a traced hold of
///     the same name lives in this process when it begins, the wait is linked to that span: the
///     work that it waits for. `colock.outcome` is `acquired`, `gave_up` (the limit ran out, or a
///     single attempt found somebody else), `cancelled` or `failed`; the last has the status of an
///     error.
///   - `colock.hold`: as long as it is held. `colock.outcome` is `released`, `dropped` (destroyed),
///     `closed` (with the client) or `lost`; the last has the status of an error.
///   - `colock.release`, of kind client: from the call to the server's answer.
///
///   Waits and releases have the attributes of OpenTelemetry's conventions for databases:
///   `db.system.name`, `db.operation.name`, `db.namespace`, `error.type`, and, if the config has
///   one address alone, `server.address` and `server.port`.
/// \par Operations
///   Each gives a deferred operation, which throws as `lock::acquire` does: await it, or call it
///   with another completion token, as in `mine.acquire(lock)(boost::asio::use_future)`.
/// \par Cost
///   A hold whose span is recorded has one more handler on the client's executor, for the loss.
/// \par Thread-safety
///   Safe: it is immutable. Copies are cheap, and share what they have.
class tracer {
    using context_type = opentelemetry::context::Context;
    using span_type = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span>;
    using tracer_type = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer>;

public:
    /// `settings` are those of the client. The spans go to the tracer `colock` of the global
    /// provider, as it is now.
    explicit tracer(config const& settings)
        : tracer{settings, opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("colock")}
    {}

    /// The spans go to this tracer.
    tracer(config const& settings, tracer_type to)
        : with_{std::make_shared<detail::source>(settings, std::move(to))}
    {}

    /// One whose spans have this parent.
    tracer under(span_type const& parent) const
    {
        return under(context_type{opentelemetry::trace::kSpanKey, parent});
    }

    /// One whose spans have the parent in this context, such as a propagator has extracted.
    tracer under(context_type const& parent) const
    {
        tracer made{*this};
        made.parent_ = detail::as_parent(parent);
        return made;
    }

    /// As `lock.acquire(options)`. Gives a `traced<hold>`.
    template <class Lock>
    auto acquire(Lock const& lock, acquire_options options = {}) const
    {
        return follow(lock.name(), lock.acquire(options));
    }

    /// As `lock.try_acquire_for(wait, options)`. Gives an `if_acquired<traced<hold>>`.
    template <class Lock, class Rep, class Period>
    auto try_acquire_for(
        Lock const& lock, std::chrono::duration<Rep, Period> wait, acquire_options options = {}
    ) const
    {
        return follow(lock.name(), lock.try_acquire_for(wait, options));
    }

    /// Makes spans of any other operation that acquires: `follow("pool", pool.acquire(3))`. In its
    /// result a hold becomes a `traced<hold>`, and so do a permit and a leadership. Permits of a
    /// `semaphore`, which have no `lost()`, have the span of the wait alone.
    template <class Operation>
    auto follow(std::string name, Operation operation) const
    {
        using signature = typename detail::traced_signature<
            boost::asio::completion_signature_of_t<Operation>>::type;
        detail::wait_initiation<Operation> begin{
            {with_, parent(), std::move(name)}, std::move(operation)};
        boost::asio::deferred_t token;
        return boost::asio::async_initiate<boost::asio::deferred_t, signature>(
            std::move(begin), token
        );
    }

    /// As `colock::with_lock`. The work takes a `traced<hold>&`, a `hold&`, or nothing.
    template <class Lock, class Work>
    auto with_lock(Lock lock, acquire_options options, Work work) const
    {
        return detail::run_with(acquire(lock, options), lock.name(), std::move(work));
    }

    /// With the default options.
    template <class Lock, class Work>
    auto with_lock(Lock lock, Work work) const
    {
        return with_lock(std::move(lock), acquire_options{}, std::move(work));
    }

    /// As `colock::with_lock_for`. The work takes a `traced<hold>&`, a `hold&`, or nothing.
    template <class Lock, class Rep, class Period, class Work>
    auto with_lock_for(
        Lock lock, std::chrono::duration<Rep, Period> wait, acquire_options options, Work work
    ) const
    {
        return detail::run_with_for(
            try_acquire_for(lock, wait, options), lock.name(), std::move(work)
        );
    }

    /// With the default options.
    template <class Lock, class Rep, class Period, class Work>
    auto with_lock_for(Lock lock, std::chrono::duration<Rep, Period> wait, Work work) const
    {
        return with_lock_for(std::move(lock), wait, acquire_options{}, std::move(work));
    }

private:
    context_type parent() const
    {
        return parent_ ? *parent_
                       : detail::as_parent(opentelemetry::context::RuntimeContext::GetCurrent());
    }

    std::shared_ptr<detail::source> with_;
    std::optional<context_type> parent_;
};

}  // namespace otel
}  // namespace v0_3
}  // namespace colock
