// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "../../test_double/child.hpp"

namespace colock::test {

using child_process = testing::child;

}  // namespace colock::test
