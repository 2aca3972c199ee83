// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/options.hpp>

namespace colock::test {

inline acquire_options const on_two_replicas{.sync_replicas = 2};

}  // namespace colock::test
