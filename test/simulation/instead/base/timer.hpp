// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "base/clock.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

// Stands in the place of src/base/timer.hpp where the library is compiled for the simulator: the
// same timer without a reactor, so that arming one costs no system call, and the simulator can ask
// when the next one is due.
namespace colock {

namespace asio = boost::asio;

using strand_type = asio::strand<asio::any_io_executor>;

class timer_type;

/// The timers of one execution context. Whoever runs the context calls `fire`.
class timer_queue final : public asio::execution_context::service {
public:
    using key_type = timer_queue;
    static inline asio::execution_context::id id;

    explicit timer_queue(asio::execution_context& c) : service{c} {}

    /// When the next one is due, by the clock of its context; `never` if none is.
    inline time_point next() const noexcept;

    /// Posts the handlers of those that are due.
    inline void fire(time_point now);

private:
    friend class timer_type;
    inline void shutdown() override;

    std::vector<timer_type*> waiting_;  // in the order of their waits; there are few
};

class timer_type {
    using handler = asio::any_completion_handler<void(boost::system::error_code)>;

public:
    explicit timer_type(strand_type const& strand)
        : strand_{strand}
        , queue_{asio::use_service<timer_queue>(
              asio::query(strand.get_inner_executor(), asio::execution::context)
          )}
    {}
    timer_type(timer_type const&) = delete;
    timer_type& operator=(timer_type const&) = delete;
    ~timer_type() { leave(); }

    time_point expiry() const noexcept { return expiry_; }

    std::size_t expires_at(time_point t)
    {
        auto const ended = cancel();
        expiry_ = t;
        return ended;
    }

    std::size_t cancel()
    {
        if (!waiting_)
            return 0;
        finish(asio::error::operation_aborted);
        return 1;
    }

    template <class Token>
    auto async_wait(Token&& token)
    {
        return asio::async_initiate<Token, void(boost::system::error_code)>(
            [this](auto&& waiting) {
                waiting_ = std::forward<decltype(waiting)>(waiting);
                queue_.waiting_.push_back(this);
            },
            token
        );
    }

private:
    friend class timer_queue;

    void leave() noexcept { std::erase(queue_.waiting_, this); }

    void finish(boost::system::error_code ec)
    {
        leave();
        asio::post(strand_, asio::append(std::exchange(waiting_, {}), ec));
    }

    strand_type strand_;
    timer_queue& queue_;
    time_point expiry_{};
    handler waiting_;
};

// What waits goes with its context, as it does with one of Asio's.
inline void timer_queue::shutdown()
{
    while (!waiting_.empty()) {
        auto* const last = waiting_.back();
        waiting_.pop_back();
        auto const dropped = std::exchange(last->waiting_, {});
    }
}

inline time_point timer_queue::next() const noexcept
{
    auto first = never;
    for (auto const* t : waiting_)
        first = std::min(first, t->expiry_);
    return first;
}

inline void timer_queue::fire(time_point now)
{
    while (true) {
        timer_type* due = nullptr;
        for (auto* t : waiting_)
            if (t->expiry_ <= now && (!due || t->expiry_ < due->expiry_))
                due = t;
        if (!due)
            return;
        due->finish({});
    }
}

}  // namespace colock
