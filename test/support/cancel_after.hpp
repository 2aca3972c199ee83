// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// asio::cancel_after, also for Boost before 1.86, which has none.
#pragma once

#include <boost/asio/version.hpp>

#if BOOST_ASIO_VERSION >= 103100

#    include <boost/asio/cancel_after.hpp>

#else

#    include <boost/asio/associated_allocator.hpp>
#    include <boost/asio/associated_cancellation_slot.hpp>
#    include <boost/asio/associated_executor.hpp>
#    include <boost/asio/async_result.hpp>
#    include <boost/asio/basic_waitable_timer.hpp>
#    include <boost/asio/bind_allocator.hpp>
#    include <boost/asio/bind_cancellation_slot.hpp>
#    include <boost/asio/bind_executor.hpp>
#    include <boost/asio/cancellation_signal.hpp>
#    include <boost/asio/deferred.hpp>
#    include <boost/asio/system_executor.hpp>
#    include <boost/asio/wait_traits.hpp>

#    include <chrono>
#    include <memory>
#    include <optional>
#    include <type_traits>
#    include <utility>

// The tests call it by Asio's name, so that they read alike with every release of Boost.
namespace boost::asio {

template <class Token>
struct cancel_after_t {
    Token token;
    std::chrono::steady_clock::duration limit;
    cancellation_type type;
};

namespace cancel_after_detail {

template <class Initiation>
auto executor_for(Initiation const& initiation)
{
    if constexpr (requires { initiation.get_executor(); })
        return initiation.get_executor();
    else
        return system_executor{};
}

/// An operation and its timer. Both share it, and both run on the handler's executor.
template <class Handler, class Executor>
struct operation {
    operation(Executor const& executor, std::chrono::steady_clock::duration limit, Handler h)
        : timer{executor, limit}
        , handler{std::move(h)}
    {}

    basic_waitable_timer<
        std::chrono::steady_clock,
        wait_traits<std::chrono::steady_clock>,
        Executor>
        timer;
    std::optional<Handler> handler;  // none once it is called
    cancellation_signal signal;
};

template <class Handler, class Initiation, class... Arguments>
void start(
    Handler handler,
    std::chrono::steady_clock::duration limit,
    cancellation_type type,
    Initiation initiation,
    Arguments&&... arguments
)
{
    auto const executor = get_associated_executor(handler, executor_for(initiation));
    auto const allocator = get_associated_allocator(handler);
    using shared = operation<Handler, std::decay_t<decltype(executor)>>;
    auto const self = std::make_shared<shared>(executor, limit, std::move(handler));

    // A plain pointer: the handler that has the slot is in *self.
    if (auto outer = get_associated_cancellation_slot(*self->handler); outer.is_connected())
        outer.assign([it = self.get()](cancellation_type how) { it->signal.emit(how); });
    self->timer.async_wait(bind_executor(executor, [self, type](system::error_code ec) {
        if (!ec && self->handler)
            self->signal.emit(type);
    }));
    auto done = [self](auto&&... results) {
        self->timer.cancel();
        if (auto outer = get_associated_cancellation_slot(*self->handler); outer.is_connected())
            outer.clear();
        auto last = std::move(*self->handler);
        self->handler.reset();
        std::move(last)(std::forward<decltype(results)>(results)...);
    };
    std::move(initiation)(
        bind_cancellation_slot(
            self->signal.slot(), bind_allocator(allocator, bind_executor(executor, std::move(done)))
        ),
        std::forward<Arguments>(arguments)...
    );
}

}  // namespace cancel_after_detail

template <class Token, class... Signatures>
struct async_result<cancel_after_t<Token>, Signatures...> {
    template <class Initiation, class RawToken, class... Arguments>
    static auto initiate(Initiation&& initiation, RawToken&& raw, Arguments&&... arguments)
    {
        auto limited = [limit = raw.limit,
                        type = raw.type,
                        start = std::decay_t<Initiation>(std::forward<Initiation>(initiation)
                        )](auto&& handler, auto&&... values) mutable {
            cancel_after_detail::start(
                std::decay_t<decltype(handler)>(std::forward<decltype(handler)>(handler)),
                limit,
                type,
                std::move(start),
                std::forward<decltype(values)>(values)...
            );
        };
        Token token(std::forward<RawToken>(raw).token);
        return async_initiate<Token, Signatures...>(
            std::move(limited), token, std::forward<Arguments>(arguments)...
        );
    }
};

template <class Rep, class Period, class Token = deferred_t>
auto cancel_after(
    std::chrono::duration<Rep, Period> limit, cancellation_type type, Token&& token = Token()
)
{
    return cancel_after_t<std::decay_t<Token>>{std::forward<Token>(token), limit, type};
}

template <class Rep, class Period, class Token = deferred_t>
auto cancel_after(std::chrono::duration<Rep, Period> limit, Token&& token = Token())
{
    return cancel_after(limit, cancellation_type::terminal, std::forward<Token>(token));
}

}  // namespace boost::asio

#endif
