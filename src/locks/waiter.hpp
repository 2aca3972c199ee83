#pragma once

#include "base/completion.hpp"
#include "decide/alarm_queue.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/detail/lock_id.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace colock {

using detail::core_ptr;

struct step;
struct waiter;

/// A queue of waiters.
class wait_queue {
public:
    /// The waiter leaves, for this reason; none: its wait ran out.
    virtual void leave(waiter&, error_code why) = 0;

protected:
    ~wait_queue() = default;
};

/// An acquire that has not ended yet.
struct waiter final : operation, boost::intrusive::list_base_hook<> {
    /// The kind of the call: wait without end, try once, or wait for a limited time.
    using result = std::variant<completion<hold>, completion<std::optional<hold>>>;

    waiter(
        core_ptr c, detail::lock_id of, acquire_options const& options, milliseconds default_lease
    );

    void cancel() override;
    void grant(hold);
    void fail(error_code);
    void give_up();  ///< completes with an empty optional

    /// Sets the wanted replicas in a step that takes the lock.
    void ask_replicas(step&) const;
    bool is_done() const noexcept;

    /// Whether it may get the lock after that one unchanged: the same lease, over the same link.
    bool may_follow(waiter const& other) const noexcept
    {
        return renewed && other.renewed && lease == other.lease && replicas == 0 &&
            at_least == milliseconds{0};
    }

    core_ptr inside;
    detail::lock_id id;
    owner who;
    milliseconds lease;
    milliseconds at_least;  ///< the lock stays taken for this long
    bool renewed;
    bool shared_owner;                   ///< the caller named the owner: it may re-enter
    bool re_entrant;                     ///< if not, an owner that has the lock is refused
    unsigned replicas;                   ///< how many have to acknowledge it
    bool once = false;                   ///< one attempt
    std::optional<milliseconds> wait{};  ///< the longest
    time_point asked{};
    time_point deadline = never;
    std::uint32_t attempts = 0;
    std::uint64_t arrival = 0;    ///< its number in the order of all acquires
    wait_queue* queue = nullptr;  ///< the queue that it is in
    result done;
    decide::alarm_queue::alarm limit;
    std::shared_ptr<operation> queued;  ///< itself, while it is in a queue
};

}  // namespace colock
