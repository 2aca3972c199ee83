#pragma once

#include "base/strand_task.hpp"
#include "decide/alarm_queue.hpp"
#include "locks/fair_waiter.hpp"
#include "redis/transport.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

namespace colock {

/// Keeps the tickets of all fair locks alive, many tickets of a lane per call, each three times in
/// its life. So the place of a dead client blocks nobody for longer than one life.
///
/// The answer also tells what a waiter may have missed: that its turn has come, when it is worth
/// asking, or that its place is gone.
class heartbeat {
public:
    explicit heartbeat(core& owner);
    ~heartbeat();

    /// Adds a waiter whose ticket was alive then. The ticket is kept alive until the waiter leaves.
    void add(fair_waiter&, time_point since);

    /// The servers of these slots are reached again: keeps all their tickets at once. The tickets
    /// of one lock go in the order of their arrival, because they ask again in that order if they
    /// have lost their places.
    void revive(slot_filter const& which);

    /// The client stops: keeps nothing alive any more.
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
    std::unordered_map<unsigned, std::unique_ptr<ring>> rings_;  ///< by lane, permanent
};

}  // namespace colock
