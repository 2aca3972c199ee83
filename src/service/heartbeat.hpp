#pragma once

#include "base/sequence.hpp"
#include "decide/agenda.hpp"
#include "service/ticket.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <vector>

namespace colock {

/// Keeps the tickets of all fair locks alive: those of one link many a call, each three times in
/// its life. So the place of a client that dies stands in nobody's way for longer than that.
///
/// The answer says as well what a ticket may have missed: that its turn has come, when it is worth
/// asking, or that its place is gone.
class heartbeat {
public:
    explicit heartbeat(core& owner);
    ~heartbeat();

    /// A ticket that was alive then. It is kept until it leaves.
    void add(ticket&, time_point since);

    /// The link is a new one: keeps all of its tickets at once. Those of one lock go in the order
    /// of their arrival, for in that order they ask again if they have lost their places.
    void revive(unsigned link);

    /// The client stops: nothing is kept alive any more.
    void stop() { alarm_.clear(); }

private:
    struct ring;
    struct batch;
    using tickets = std::vector<std::shared_ptr<ticket>>;

    void run();
    ring& ring_of(ticket const&);
    time_point next_of(unsigned link) const noexcept;
    tickets take_due(ring&, time_point now);
    sequence beat(unsigned link, tickets some);

    core& core_;
    std::vector<ring> rings_;  ///< one a link
    decide::agenda::entry alarm_;
};

}  // namespace colock
