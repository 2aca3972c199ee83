// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <functional>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colock::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define COLOCK_TEST_SLOW 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define COLOCK_TEST_SLOW 1
#    endif
#endif

/// How long something prompt may take. A sanitizer looks for other faults than slowness.
template <class Time>
constexpr Time within(Time time)
{
#ifdef COLOCK_TEST_SLOW
    return 10 * time;
#else
    return time;
#endif
}

/// How often chance is tried: less where each time takes ten times as long.
constexpr int often(int times)
{
#ifdef COLOCK_TEST_SLOW
    return times / 3;
#else
    return times;
#endif
}

/// Blocks until `is_so`, looking every few milliseconds; false if it wasn't within the limit.
inline bool holds_within(std::chrono::milliseconds limit, std::function<bool()> const& is_so)
{
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!is_so()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        ::poll(nullptr, 0, 5);
    }
    return true;
}

/// The same. \throws std::runtime_error that names `what` didn't come.
inline void wait_until(
    std::string_view what, std::chrono::milliseconds limit, std::function<bool()> const& is_so
)
{
    if (!holds_within(limit, is_so))
        throw std::runtime_error{"waited in vain for " + std::string{what}};
}

}  // namespace colock::test
