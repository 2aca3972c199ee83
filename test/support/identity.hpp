// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "core/core.hpp"
#include "support/seed.hpp"

namespace colock::test {

/// What the next client of the running test is given: its own id and delays, the same each time.
inline detail::core::identity next_identity()
{
    return detail::core::identity::of(next_seed_of_test<detail::core::identity>());
}

}  // namespace colock::test
