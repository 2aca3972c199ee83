// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/detail/failure.hpp>
#include <colock/diagnostics.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <ratio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Turns a completion token into a type-erased handler, so that the code behind it is compiled once.
namespace colock {
inline namespace v0_3 {
namespace detail {

namespace asio = boost::asio;

class core;
using core_ptr = std::shared_ptr<core>;

/// A handle's share in its client. A handle that was moved from keeps it, but not its name: so its
/// operations end with `error::invalid_argument`.
class client_share {
public:
    client_share(core_ptr of) noexcept : core_{std::move(of)} {}
    client_share(client_share const&) noexcept = default;
    // NOLINTNEXTLINE(performance-move-constructor-init): it keeps its share
    client_share(client_share&& from) noexcept : core_{from.core_} {}
    client_share& operator=(client_share const&) noexcept = default;
    client_share& operator=(client_share&& from) noexcept
    {
        core_ = from.core_;
        return *this;
    }
    ~client_share() = default;

    operator core_ptr const&() const noexcept { return core_; }

private:
    core_ptr core_;
};

/// The executor that the client was made with, never its strand; without a client, the system
/// executor.
asio::any_io_executor executor_of(core_ptr const&) noexcept;

/// `d` in another unit, rounded up; the greatest or the least value if it does not fit.
template <class To, class Rep, class Period>
constexpr To round_up(std::chrono::duration<Rep, Period> d) noexcept
{
    using wide = std::chrono::duration<long double, typename To::period>;
    if (wide{d} >= wide{To::max()})
        return To::max();
    if (wide{d} <= wide{To::min()})
        return To::min();
    return std::chrono::ceil<To>(d);
}

/// The time until a moment, however far that is.
template <class Clock, class Duration>
std::chrono::nanoseconds time_until(std::chrono::time_point<Clock, Duration> at)
{
    using wide = std::chrono::duration<long double, std::nano>;
    return round_up<std::chrono::nanoseconds>(
        wide{at.time_since_epoch()} - wide{Clock::now().time_since_epoch()}
    );
}

/// The token is asked as a value: with Boost 1.83 a const lvalue of what `asio::bind_executor`
/// and its like make is no completion token.
template <class Token, class Signature>
concept token_for = asio::completion_token_for<std::decay_t<Token>, Signature>;

/// The last arguments of an operation: options and a token, either of them, or neither. So `First`
/// is the options or the token, and one function serves all four calls. Its default is the type
/// `Options`, and then `{.lease = 3s}` makes a value of that type.
template <class First, class Token, class Options, class Signature>
concept call_for = (std::convertible_to<First, Options> && token_for<Token, Signature>) ||
    (!std::convertible_to<First, Options> && token_for<First, Signature> &&
     std::same_as<Token, default_token>);

/// The handlers of the entry points, which get the words of an error with it.
template <class Signature>
using handler = asio::any_completion_handler<typename with_failure<Signature>::type>;

/// The server as errors name it; nothing without a client.
std::shared_ptr<std::string const> server_of(core_ptr const&) noexcept;

// The server that an operation is about. Several locks may have several, and then the words of the
// one that failed name it.
std::shared_ptr<std::string const> server_for(core_ptr const& core, auto const&...) noexcept
{
    return server_of(core);
}

// The name that an operation is about, by its first argument.
template <class... Arguments>
short_name name_of(Arguments const&...) noexcept
{
    return {};
}
short_name name_of(std::string const& name, auto const&...) noexcept { return short_name{name}; }
short_name name_of(std::vector<std::string> const& names, auto const&...)
{
    return names.empty() ? short_name{} : name_of_many(names.front(), names.size());
}
template <class Subject>
    requires requires(Subject const& subject) { subject.name; }
short_name name_of(Subject const& subject, auto const&...) noexcept
{
    return short_name{subject.name};
}

/// The initiation of every operation. It has an executor type, so that a bare `cancel_after(5s)`
/// finds the executor for its timer.
template <class Signature, class... Arguments>
struct initiation {
    using executor_type = asio::any_io_executor;
    using entry_point = void (*)(core_ptr, handler<Signature>, Arguments...);

    char const* operation;
    core_ptr core;
    entry_point entry;

    executor_type get_executor() const noexcept { return executor_of(core); }

    template <class Handler, class... Values>
    void operator()(Handler&& handler, Values&&... values) const
    {
        using given = std::decay_t<Handler>;
        if constexpr (takes_failure<given>) {
            if constexpr (requires { handler.how.about; })
                handler.how.about = {operation, name_of(values...), server_for(core, values...)};
            entry(
                core,
                detail::handler<Signature>(std::forward<Handler>(handler)),
                std::forward<Values>(values)...
            );
        } else {
            (*this)(
                failure_handler<as_code, given>{{}, std::forward<Handler>(handler)},
                std::forward<Values>(values)...
            );
        }
    }
};

/// Starts `entry` with a copy of the arguments: nothing in an operation refers to the caller.
template <class Signature, class Token, class... Arguments>
auto initiate(
    char const* operation,
    core_ptr core,
    void (*entry)(core_ptr, handler<Signature>, Arguments...),
    Token&& token,
    std::type_identity_t<Arguments>... arguments
)
{
    using value = std::decay_t<Token>;
    // Not in parentheses: the explicit constructor of `asio::as_tuple_t` takes any lvalue as the
    // token that it is to wrap, also another `as_tuple_t`.
    value own = std::forward<Token>(token);
    return asio::async_initiate<value, Signature>(
        initiation<Signature, Arguments...>{operation, std::move(core), entry},
        own,
        std::move(arguments)...
    );
}

/// The same for a `call_for`; the options are the last argument of `entry`.
template <class Signature, class Options, class First, class Token, class Entry, class... Arguments>
auto initiate_call(
    char const* operation,
    core_ptr core,
    Entry entry,
    First&& options,
    Token&& token,
    Arguments&&... arguments
)
{
    if constexpr (std::convertible_to<First, Options>)
        return initiate<Signature>(
            operation,
            std::move(core),
            entry,
            std::forward<Token>(token),
            std::forward<Arguments>(arguments)...,
            static_cast<Options>(std::forward<First>(options))
        );
    else
        return initiate<Signature>(
            operation,
            std::move(core),
            entry,
            std::forward<First>(options),
            std::forward<Arguments>(arguments)...,
            Options{}
        );
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
