#pragma once

#include "base/strand_task.hpp"
#include "decide/alarm_queue.hpp"

#include <boost/intrusive/list.hpp>

namespace colock {

/// A short wait of a task, which `core::rest` begins and `over` ends. The core knows the pauses
/// under way, because a task may own the object that its pause is in; then only the core can end
/// both.
struct pause :
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    /// Ends it early, if it is under way.
    void finish()
    {
        if (!is_linked())
            return;
        alarm.clear();
        unlink();
        over.set(true);
    }

    event<bool> over;
    decide::alarm_queue::alarm alarm{[this] { finish(); }};
};

}  // namespace colock
