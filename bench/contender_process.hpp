#pragma once

#include "critical_section.hpp"
#include "plan.hpp"

#include <boost/json/object.hpp>

namespace bench {

/// One of the processes of W4 and W7: its workers acquire one key, hold it, release it, again.
json::object run_contender(plan const&, window, board&, int process);

/// A process that tries without waiting, each 5 ms, and holds the key as the others do.
json::object run_poller(plan const&, window, board&, int process);

}  // namespace bench
