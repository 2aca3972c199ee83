#pragma once

#include "base/completion.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "decide/acquire_terms.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/linked_list.hpp"
#include "holds/hold_state.hpp"
#include <colock/detail/lock_id.hpp>
#include <colock/options.hpp>
#include <colock/permit_semaphore.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace colock {

struct step;
class contender;
class wait_queue;

/// The place among those of a queue that try once.
struct in_trying;
using trying_hook = decide::list_hook<in_trying>;

/// The place among those of a queue whose callers have named an owner.
using owner_hook =
    boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A call that wants a lock, permits, or a latch at zero, until it has its answer. Its queue is the
/// state of its kind and name.
struct waiter final :
    operation,
    decide::acquire_terms,
    decide::permit_terms,
    boost::intrusive::list_base_hook<>,
    trying_hook,
    owner_hook {
    /// The kind of its answer: a hold, a permit or several, or the mere fact; for a call that waits
    /// without end, or for one that tries.
    using result = std::variant<
        completion<hold>,
        completion<if_acquired<hold>>,
        completion<permit>,
        completion<if_acquired<permit>>,
        completion<permit_list>,
        completion<>,
        completion<bool>>;

    /// A permit that was granted, with its id.
    struct held_permit {
        hold_ptr held;
        std::string id;
    };

    waiter(core_ptr, state_kind, std::string key, acquire_options const&);

    void cancel() override { leave(asio::error::operation_aborted); }

    /// The call begins.
    void arrive() noexcept
    {
        asked = clock::now();
        arrival = inside->next_arrival();
    }

    /// It is not to wait longer. Zero: one attempt, within `config::timeout`. Negative: an error.
    failure limit_to(milliseconds);

    // Each completes the caller.
    void grant(hold_ptr const&);  ///< the caller has it from now on
    void grant(std::vector<held_permit> const&);
    void grant();
    void fail(failure);           ///< if it still waits
    void give_up() { fail({}); }  ///< its wait is over, or it has tried in vain

    /// Tells the observer. For a hold, `grant` does.
    void tell_acquired() const;

    /// Tells the observer that its wait begins, for as long as this at first.
    void tell_waiting(milliseconds lease) const;

    bool is_done() const noexcept;

    /// The end of its wait, once it has begun.
    time_point deadline() const noexcept { return wait ? asked + *wait : never; }

    /// A hold as it wants it.
    hold_ptr make_hold() const;

    /// Sets the wanted copies in a step that takes the lock.
    void ask_copies(step&) const;

    core_ptr inside;
    state_kind kind;
    std::string name;                    ///< of the key at the server
    backoff pauses{};                    ///< of a spin lock
    bool once = false;                   ///< one attempt
    std::optional<milliseconds> wait{};  ///< the longest
    time_point asked{};
    std::uint32_t attempts = 0;   ///< how often the server was asked for it
    std::uint64_t arrival = 0;    ///< its number in the order of all calls
    wait_queue* queue = nullptr;  ///< the queue that it is in
    contender* asking = nullptr;  ///< where each waiter has its own: of a fair lock, or a reader
    result done;
    decide::alarm_queue::alarm limit;
    std::shared_ptr<waiter> queued;  ///< itself, while it is in a queue

private:
    /// Tells the observer how it ends.
    template <class Event>
    void tell() const;

    microseconds waited() const;  ///< so far
    void begin(hold_ptr const&) const;
    void leave(failure why);

    /// Why its wait ends in vain: no error if it is taken, else the reason that nobody has said so.
    failure why_unserved() const;
};

/// Makes a waiter of a call. `name` is without the client's prefix.
template <class... Values>
std::shared_ptr<waiter> make_waiter(
    core_ptr inside,
    asio::any_completion_handler<void(failure, Values...)> handler,
    state_kind kind,
    std::string name,
    acquire_options const& options = {}
)
{
    auto key = inside->key_of(std::move(name));
    auto who = make_recycled<waiter>(std::move(inside), kind, std::move(key), options);
    who->listen(who->inside->strand(), handler);
    who->done = completion<Values...>{std::move(handler), who->inside->executor()};
    return who;
}

/// Brings it to the strand, and there to its queue by `admit`. It fails if something is `wrong`
/// with the call, or the client refuses it.
void start(std::shared_ptr<waiter>, failure wrong, void (*admit)(std::shared_ptr<waiter> const&));

}  // namespace colock
