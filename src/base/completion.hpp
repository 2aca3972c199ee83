#pragma once

#include "base/timer.hpp"
#include <colock/error.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <memory>
#include <utility>

namespace colock {

/// The caller's end of an operation. Completing it posts, so that user code never runs on our
/// strand; until then the context of the handler's executor has work.
template <class... Values>
class completion {
public:
    using handler_type = asio::any_completion_handler<void(error_code, Values...)>;

    completion() = default;

    completion(handler_type handler, asio::any_io_executor const& fallback)
        : handler_{std::move(handler)}
        , fallback_{fallback}
        , work_{asio::prefer(
              asio::get_associated_executor(handler_, asio::any_completion_executor{fallback}),
              asio::execution::outstanding_work.tracked
          )}
    {}

    explicit operator bool() const noexcept { return static_cast<bool>(handler_); }

    /// Once; afterwards it is empty.
    void operator()(error_code ec, Values... values)
    {
        auto const work = std::exchange(work_, {});
        asio::post(fallback_, asio::append(std::move(handler_), ec, std::move(values)...));
        handler_ = nullptr;
    }

private:
    handler_type handler_;
    asio::any_io_executor fallback_;
    asio::any_completion_executor work_;
};

/// What a caller waits for and may cancel. It lives until it is completed.
class operation : public std::enable_shared_from_this<operation> {
public:
    virtual ~operation() = default;

    /// On the strand: the caller wants no more. May come late, when there is nothing to cancel.
    virtual void cancel() = 0;

    /// Makes the handler's cancellation arrive at `cancel`. Called in the initiating function,
    /// where alone the slot may be touched.
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
