#pragma once

#include "base/client_counters.hpp"
#include <colock/client.hpp>

namespace colock {

client_stats stats_of(detail::client_counters const&) noexcept;

}  // namespace colock
