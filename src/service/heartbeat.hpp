#pragma once

#include "base/strand_task.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/transport.hpp"
#include "service/fair_waiter.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

namespace colock {

/// Keeps the tickets of all fair locks alive: those of one lane many a call, each three times in
/// its life. So the place of a client that dies stands in nobody's way for longer than that.
///
/// The answer says as well what a waiter may have missed: that its turn has come, when it is worth
/// asking, or that its place is gone.
class heartbeat {
public:
    explicit heartbeat(core& owner);
    ~heartbeat();

    /// A waiter whose ticket was alive then. It is kept until the waiter leaves.
    void add(fair_waiter&, time_point since);

    /// Their servers are reached anew: keeps all tickets of these slots at once. Those of one lock
    /// go in the order of their arrival, for in that order they ask again if they have lost their
    /// places.
    void revive(slot_filter const& which);

    /// The client stops: nothing is kept alive any more.
    void stop();

private:
    struct ring;
    struct batch;
    using fair_waiters = std::vector<std::shared_ptr<fair_waiter>>;

    void revive(ring&, slot_filter const& which);
    void run(ring&);
    fair_waiters take_due(ring&, time_point now);
    strand_task beat(ring&, fair_waiters some);

    core& core_;
    std::unordered_map<unsigned, std::unique_ptr<ring>> rings_;  ///< by lane, for good
};

}  // namespace colock
