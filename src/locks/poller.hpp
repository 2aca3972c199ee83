#pragma once

#include "base/strand_task.hpp"
#include "decide/alarm_queue.hpp"
#include "holds/protocol.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace colock {

using detail::core;

/// Asks for many keys in one call whether they are free. So a lost message costs a waiter at most
/// the poll cap, and polling costs the server one call for each 128 waiting keys.
///
/// It asks for each added key once per poll cap, until the key leaves.
class poller {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// A key that is waited for.
    struct entry :
        boost::intrusive::list_base_hook<
            boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
        entry(lock_ref of, unsigned hash_slot) : which{of}, slot{hash_slot} {}

        lock_ref which;
        unsigned slot;
        time_point due{};
    };

    explicit poller(core& owner);
    ~poller();

    void add(entry&);

    /// The client stops: asks for nothing any more.
    void stop();

private:
    struct ring;

    void run(ring&);
    void wake_all(ring const&);
    void wake(std::vector<lock_id> const& sleeping);
    strand_task ask(ring&);
    std::vector<lock_id> take_due(ring&, time_point now);

    core& core_;
    std::unordered_map<unsigned, std::unique_ptr<ring>> rings_;  ///< by lane, permanent
};

}  // namespace colock
