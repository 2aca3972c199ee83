#pragma once

#include "service/core.hpp"
#include <colock/client.hpp>

namespace colock {

/// What the client of this inside is doing at the moment. From any thread.
client_stats stats_of(core const&) noexcept;

}  // namespace colock
