// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "support/any_kind.hpp"

#include <string>

namespace colock::test {

/// So many permits the semaphores of these tests have, and so high their latches begin.
inline constexpr int chaos_permits = 2;

/// What is at the server for a name and should not be when nobody uses it, as text; empty if all is
/// well. Of semaphores, `missing` permits may be out.
std::string leftovers(redis_server&, kind, std::string const& name, int missing = 0);

/// The same of a client's tables. Subscriptions, and what is known of others who want a key,
/// linger: they are none of it, unless asked for.
std::string leftovers(client const&, bool what_lingers);

}  // namespace colock::test
