// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>

namespace colock {
inline namespace v0_3 {

/// An event of a lock, as a `lock_watch` has heard it.
struct lock_event {
    enum class kind {
        live,      ///< the watch hears the server from here on; what happened before may be missing
        acquired,  ///< the lock was free, and somebody has it
        released,  ///< somebody has released it, or it was deleted or forced
        expired,   ///< its lease has ended, and nobody had released it
        requested  ///< somebody asks its holder to let go of it: `ask_to_release`
    };

    kind what = kind::live;
    std::chrono::steady_clock::time_point heard{};  ///< when the message came
};

}  // namespace v0_3
}  // namespace colock
