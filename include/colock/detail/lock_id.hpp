// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <string>

namespace colock {
inline namespace v0_3 {

/// The pauses of a waiter between its tries: `initial` at first, `factor` times as long after each
/// refusal, never longer than `max`. Each pause is shortened at random by up to half (jitter), so
/// that many waiters do not come back at once. The defaults are Redisson's.
struct backoff {
    std::chrono::milliseconds initial{1};  ///< at least 1 ms
    std::chrono::milliseconds max{128};    ///< at least `initial`
    int factor = 2;                        ///< at least 1
};

namespace detail {

enum class lock_kind : unsigned char { plain, spin, fenced, fair, read, write };

/// The lock that an operation works on.
struct lock_id {
    std::string name;
    lock_kind kind = lock_kind::plain;
    backoff waits{};  ///< of a spin lock
};

}  // namespace detail

}  // namespace v0_3
}  // namespace colock
