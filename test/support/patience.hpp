// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

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

}  // namespace colock::test
