// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/detail/failure.hpp>
#include <colock/error.hpp>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/config.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// The text of an error, in one line: the operation, the name of the lock, the server, and the
/// words of the server or of the connection, if it had any.
///
///     acquire stock:42: 10.0.0.7:6379 refused a command: OOM command not allowed …
///
/// It never has a password. Nothing in it steers a terminal. Of a name longer than 63 bytes the
/// middle is left out.
class diagnostics {
public:
    /// Empty if there was no error, or no memory for the text.
    std::string const& text() const noexcept { return text_; }

    /// For the operations.
    void set(std::string text) noexcept { text_ = std::move(text); }

private:
    std::string text_;
};

/// The exception of operations: `code()` is the error, `what()` the text of its diagnostics.
class BOOST_SYMBOL_VISIBLE error_with_diagnostics : public boost::system::system_error {
public:
    error_with_diagnostics(error_code ec, std::string text);

    char const* what() const noexcept override { return get_diagnostics().text().c_str(); }
    diagnostics const& get_diagnostics() const noexcept;

private:
    std::shared_ptr<diagnostics const> said_;
};

/// The type of `with_diagnostics(token)`.
template <class Token>
struct throwing_token {
    Token inner{};
};

/// The type of `with_diagnostics(to, token)`.
template <class Token>
struct telling_token {
    diagnostics* to;
    Token inner;
};

/// A completion token that throws an `error_with_diagnostics`, where the token in it would throw
/// an exception that names nothing: `lock.acquire(with_diagnostics(boost::asio::use_future))`. An
/// operation without a token has it: `co_await lock.acquire()`. It is the outermost adapter: others
/// go into it, because round it they hide it from the operation, and the text is short then.
///
/// \par Completion signature
///   `void(std::exception_ptr, ...)` in place of `void(error_code, ...)`.
template <class Token>
throwing_token<std::decay_t<Token>> with_diagnostics(Token&& token)
{
    return {std::forward<Token>(token)};
}

/// A completion token that puts the diagnostics into `to` and leaves the error code to the token in
/// it: `lock.acquire(with_diagnostics(said, boost::asio::as_tuple(boost::asio::deferred)))`. It is
/// the outermost adapter, too.
///
/// \par Lifetimes
///   `to` outlives the operation. It is written just before the handler runs, on its executor.
template <class Token>
telling_token<std::decay_t<Token>> with_diagnostics(diagnostics& to, Token&& token)
{
    return {&to, std::forward<Token>(token)};
}

namespace detail {

/// Of operations that are given no token.
using default_token = throwing_token<boost::asio::deferred_t>;

/// How a handler takes an error: as a code alone.
struct as_code {
    template <class Handler, class... Values>
    void operator()(Handler&& handler, failure const& why, Values&&... values)
    {
        std::forward<Handler>(handler)(error_code{why}, std::forward<Values>(values)...);
    }
};

/// As it is: inside of the library.
struct as_failure {
    template <class Handler, class... Values>
    void operator()(Handler&& handler, failure const& why, Values&&... values)
    {
        std::forward<Handler>(handler)(why, std::forward<Values>(values)...);
    }
};

/// As an exception.
struct as_exception {
    call_about about{};

    template <class Handler, class... Values>
    void operator()(Handler&& handler, failure const& why, Values&&... values)
    {
        std::forward<Handler>(handler)(exception_of(why, about), std::forward<Values>(values)...);
    }
};

template <class How, class Handler>
struct failure_handler;
template <class Handler>
inline constexpr bool takes_failure = false;
template <class How, class Handler>
inline constexpr bool takes_failure<failure_handler<How, Handler>> = true;

/// As a code, with its text elsewhere.
struct as_diagnostics {
    diagnostics* to;
    call_about about{};

    template <class Handler, class... Values>
    void operator()(Handler&& handler, failure const& why, Values&&... values)
    {
        try {
            to->set(why ? text_of(why, about) : std::string{});
        } catch (std::exception const&) {  // no memory for it
            to->set({});
        }
        if constexpr (takes_failure<std::decay_t<Handler>>) {
            handler.how.about = about;
            std::forward<Handler>(handler)(why, std::forward<Values>(values)...);
        } else {
            std::forward<Handler>(handler)(error_code{why}, std::forward<Values>(values)...);
        }
    }
};

/// Takes a failure for a handler that takes an error so.
template <class How, class Handler>
struct failure_handler {
    [[no_unique_address]] How how;
    Handler handler;

    template <class... Values>
    void operator()(failure const& why, Values... values)
    {
        how(std::move(handler), why, std::move(values)...);
    }
};

template <class Initiation>
struct executor_of_initiation {};
template <class Initiation>
    requires requires { typename Initiation::executor_type; }
struct executor_of_initiation<Initiation> {
    using executor_type = typename Initiation::executor_type;
};

/// Begins an operation with such a handler. It has the executor of the operation, as its type, too:
/// a bare `cancel_after(5s)` asks for both.
template <class Initiation, class How>
struct failure_initiation : executor_of_initiation<Initiation> {
    failure_initiation(Initiation i, How h) : initiation{std::move(i)}, how{std::move(h)} {}

    auto get_executor() const noexcept
        requires requires(Initiation const& i) { i.get_executor(); }
    {
        return initiation.get_executor();
    }

    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) &&
    {
        using adapted = failure_handler<How, std::decay_t<Handler>>;
        std::move(initiation)(
            adapted{std::move(how), std::forward<Handler>(handler)},
            std::forward<Arguments>(arguments)...
        );
    }
    template <class Handler, class... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) const&
    {
        auto own = *this;
        std::move(own)(std::forward<Handler>(handler), std::forward<Arguments>(arguments)...);
    }

    Initiation initiation;
    How how;
};

template <class Signature, class Token, class How, class Initiation, class... Arguments>
auto initiate_with(How how, Initiation&& initiation, Token& token, Arguments&&... arguments)
    -> decltype(boost::asio::async_initiate<Token, Signature>(
        std::declval<failure_initiation<std::decay_t<Initiation>, How>>(),
        token,
        std::forward<Arguments>(arguments)...
    ))
{
    return boost::asio::async_initiate<Token, Signature>(
        failure_initiation<std::decay_t<Initiation>, How>{
            std::forward<Initiation>(initiation), std::move(how)},
        token,
        std::forward<Arguments>(arguments)...
    );
}

template <class Token>
as_exception way_of(throwing_token<Token> const&)
{
    return {};
}

template <class Token>
as_diagnostics way_of(telling_token<Token> const& token)
{
    return {token.to};
}

/// Of an operation with such a token round another, which gets this signature.
template <class Token, class Signature>
struct result_of {
    template <class Initiation, class... Arguments>
    static auto initiate(Initiation&& initiation, Token token, Arguments&&... arguments)
        -> decltype(detail::initiate_with<Signature>(
            detail::way_of(token),
            std::forward<Initiation>(initiation),
            token.inner,
            std::forward<Arguments>(arguments)...
        ))
    {
        return detail::initiate_with<Signature>(
            detail::way_of(token),
            std::forward<Initiation>(initiation),
            token.inner,
            std::forward<Arguments>(arguments)...
        );
    }
};

}  // namespace detail

}  // namespace v0_3
}  // namespace colock

template <class Token, class... Values>
struct boost::asio::
    async_result<colock::throwing_token<Token>, void(colock::error_code, Values...)> :
    colock::detail::result_of<colock::throwing_token<Token>, void(std::exception_ptr, Values...)> {
};

template <class Token, class... Values>
struct boost::asio::
    async_result<colock::telling_token<Token>, void(colock::error_code, Values...)> :
    colock::detail::result_of<colock::telling_token<Token>, void(colock::error_code, Values...)> {};

template <template <class, class> class Associator, class How, class Handler, class Default>
struct boost::asio::associator<Associator, colock::detail::failure_handler<How, Handler>, Default> :
    Associator<Handler, Default> {
    using adapted = colock::detail::failure_handler<How, Handler>;

    static auto get(adapted const& from) noexcept
    {
        return Associator<Handler, Default>::get(from.handler);
    }
    static decltype(auto) get(adapted const& from, Default const& otherwise) noexcept
    {
        return Associator<Handler, Default>::get(from.handler, otherwise);
    }
};
