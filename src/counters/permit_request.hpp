#pragma once

#include "base/completion.hpp"
#include "decide/alarm_queue.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace colock {

using detail::core_ptr;

class permit_request;

/// The queue of a call.
class permit_wait_queue {
public:
    /// The call leaves, for this reason; none: its wait ran out.
    virtual void leave(permit_request&, error_code why) = 0;

protected:
    ~permit_wait_queue() = default;
};

/// A call that waits in a queue for permits, or is about to.
class permit_request : public operation, public boost::intrusive::list_base_hook<> {
public:
    permit_request(core_ptr c, std::string n);

    void cancel() override;

    /// Completes the caller, if it still waits. No error: it was not granted, and its wait is over.
    void complete(error_code);

    core_ptr inside;
    std::string name;
    bool once = false;                   ///< one attempt
    std::optional<milliseconds> wait{};  ///< the longest
    time_point asked{};
    time_point deadline() const noexcept { return wait ? asked + *wait : never; }
    std::uint32_t attempts = 0;          ///< how often the server was asked for it
    permit_wait_queue* queue = nullptr;  ///< the queue that it is in
    decide::alarm_queue::alarm limit;
    std::shared_ptr<permit_request> queued;  ///< itself, while it is in the queue

    /// Destroys the handler.
    virtual void destroy_handler() noexcept = 0;

protected:
    virtual void answer(error_code) = 0;
};

/// A request that only needs to know whether it was granted.
class permit_count_request final : public permit_request {
public:
    /// Waits without end; or tries, and gets the outcome.
    using result = std::variant<completion<>, completion<bool>>;

    permit_count_request(core_ptr c, std::string n, std::int64_t w)
        : permit_request{std::move(c), std::move(n)}
        , wanted{w}
    {}

    void grant();
    void destroy_handler() noexcept override { done = {}; }

    std::int64_t wanted;
    result done;

private:
    void answer(error_code) override;
};

}  // namespace colock
