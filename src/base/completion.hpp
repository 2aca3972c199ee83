#pragma once

#include "base/completion_turn.hpp"
#include "base/timer.hpp"
#include <colock/detail/failure.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>

#include <memory>
#include <utility>

namespace colock {

/// The executor on which a handler runs. It has work as long as this lives.
class caller_executor {
public:
    caller_executor() = default;

    /// The handler's own executor; `fallback` if it has none.
    template <class Handler>
    caller_executor(Handler const& handler, asio::any_io_executor const& fallback)
    {
        constexpr auto with_work = asio::execution::outstanding_work.tracked;
        auto own = asio::get_associated_executor(handler, asio::any_completion_executor{});
        if (!own)
            usual_ = asio::prefer(fallback, with_work);
        else if (auto const* const plain = own.template target<asio::io_context::executor_type>())
            usual_ = asio::prefer(*plain, with_work);  // costs no allocation
        else
            other_ = asio::prefer(std::move(own), with_work);
    }

    /// Runs `act` now if the executor allows that on this thread, otherwise soon.
    template <class Act>
    void execute(Act act) const
    {
        if (usual_)
            usual_.execute(std::move(act));
        else
            other_.execute(std::move(act));
    }

private:
    asio::any_io_executor usual_;
    asio::any_completion_executor other_;
};

/// The caller's end of an operation. User code never runs on our strand, nor in a function that
/// initiates: completing it posts, or leaves it to the `completion_turn` of this thread. Until then
/// the context of the handler's executor has work.
template <class... Values>
class completion {
public:
    using handler_type = asio::any_completion_handler<void(detail::failure, Values...)>;

    completion() = default;

    completion(handler_type handler, asio::any_io_executor const& fallback)
        : handler_{std::move(handler)}
        , fallback_{fallback}
        , caller_{handler_, fallback}
    {}

    explicit operator bool() const noexcept { return static_cast<bool>(handler_); }

    /// Call it once; afterwards this is empty.
    void operator()(detail::failure why, Values... values)
    {
        completion_turn::complete(
            std::move(fallback_),
            [to = std::exchange(caller_, {}),
             handler = std::exchange(handler_, nullptr),
             why = std::move(why),
             ... values = std::move(values)]() mutable {
                to.execute([handler = std::move(handler),
                            why = std::move(why),
                            ... values = std::move(values)]() mutable {
                    std::move(handler)(std::move(why), std::move(values)...);
                });
            }
        );
    }

private:
    handler_type handler_;
    asio::any_io_executor fallback_;
    caller_executor caller_;
};

/// An operation that a caller waits for and may cancel. It lives until it is completed.
class operation : public std::enable_shared_from_this<operation> {
public:
    virtual ~operation() = default;

    /// Called on the strand when the caller cancels. It may come late, when there is nothing to
    /// cancel.
    virtual void cancel() = 0;

    /// Makes the handler's cancellation arrive at `cancel`. Call it in the initiating function,
    /// because only there the slot may be touched.
    template <class Handler>
    void listen(strand_type const& strand, Handler const& handler)
    {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (!slot.is_connected())
            return;
        // The caller's signal may outlive the context, and a strand must not.
        slot.assign([on = &strand, weak = weak_from_this()](asio::cancellation_type) {
            auto self = weak.lock();  // keeps the client, and with it the strand
            if (!self)
                return;
            asio::dispatch(*on, [self = std::move(self)] { self->cancel(); });
        });
    }
};

}  // namespace colock
