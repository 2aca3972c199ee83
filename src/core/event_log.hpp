#pragma once

#include "base/paced_log.hpp"
#include <colock/observer.hpp>

namespace colock {

/// Warns of an event that somebody has to look at.
void log_event(paced_log&, client_event const&);

}  // namespace colock
