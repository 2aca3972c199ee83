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

/// The queue in which a waiter stands.
class wait_queue {
public:
    /// One leaves, for this reason; none: its wait ran out.
    virtual void leave(waiter&, error_code why) = 0;

protected:
    ~wait_queue() = default;
};

/// An acquire that has not ended yet.
struct waiter final : operation, boost::intrusive::list_base_hook<> {
    /// How it was asked: to wait without end, to try once, to wait so long.
    using result = std::variant<completion<hold>, completion<std::optional<hold>>>;

    waiter(
        core_ptr c, detail::lock_id of, acquire_options const& options, milliseconds default_lease
    );

    void cancel() override;
    void grant(hold);
    void fail(error_code);
    void give_up();  ///< not now: an empty optional

    /// Wants as much of the replicas as this asks of them, in a step that takes the lock.
    void ask_replicas(step&) const;
    bool is_done() const noexcept;

    /// May have after that one what is passed on as it is: the same promise, over the same link.
    bool may_follow(waiter const& other) const noexcept
    {
        return renewed && other.renewed && lease == other.lease && replicas == 0;
    }

    core_ptr inside;
    detail::lock_id id;
    owner who;
    milliseconds lease;
    bool renewed;
    bool shared_owner;                   ///< the caller named the owner: it may re-enter
    unsigned replicas;                   ///< so many have to acknowledge it
    bool once = false;                   ///< one attempt
    std::optional<milliseconds> wait{};  ///< the longest
    time_point asked{};
    time_point deadline = never;
    std::uint32_t attempts = 0;
    std::uint64_t arrival = 0;    ///< its number in the order of all acquires
    wait_queue* queue = nullptr;  ///< the one it stands in
    result done;
    decide::alarm_queue::alarm limit;
    std::shared_ptr<operation> queued;  ///< itself, while it stands in a queue
};

}  // namespace colock
