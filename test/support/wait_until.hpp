// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace colock::test {

/// Blocks until `is_so`, looking every few milliseconds; false if it wasn't within the limit.
bool holds_within(std::chrono::milliseconds limit, std::function<bool()> const& is_so);

/// The same. \throws std::runtime_error that names `what` didn't come.
void wait_until(
    std::string_view what, std::chrono::milliseconds limit, std::function<bool()> const& is_so
);

}  // namespace colock::test
