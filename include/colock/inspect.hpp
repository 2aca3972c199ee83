// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock {
inline namespace v0_3 {

/// One holder of a lock, or of a permit.
///
/// The texts come from the server, so anybody who may write there has chosen them: escape them
/// before they reach a terminal or a page.
struct lock_holder {
    /// The field in Redis, `<client id>:<number>`; of a permit its id in hexadecimal digits.
    std::string id;

    /// The `client::id()` of its client; of Redisson's, too. Empty for a permit whose client is
    /// not known.
    std::string client;

    /// The `config::label` of that client. Empty if it tells none, is connected for less than a
    /// second, or is Redisson's.
    std::string label;

    std::string side;        ///< of a read-write lock: `read` or `write`
    std::int64_t depth = 1;  ///< how often its owner has entered

    /// How long it has been held, to a few ms. None for the first half to one and a half seconds,
    /// and where there is no label.
    std::optional<std::chrono::milliseconds> held_for{};

    /// Of a permit: the rest of its lease; `max` if it has none.
    std::optional<std::chrono::milliseconds> lease{};
};

/// The state of a name, at one moment. See `client::inspect`.
struct lock_info {
    enum class content {
        nothing,     ///< nobody holds a lock of this name
        lock,        ///< a plain lock, a spin lock or an election
        fenced,      ///< a lock of which `fenced_lock` or Redisson draw tokens
        fair,        ///< a lock with a queue; without waiters, nothing tells it from `lock`
        read_write,  ///< a read-write lock
        permits,     ///< a permit semaphore
        counter      ///< a semaphore or a latch, which are bare numbers: nobody knows who has what
    };

    content what = content::nothing;  ///< the kind, as far as Redis tells

    std::vector<lock_holder> holders;  ///< by their ids; the first thousand or so
    bool is_whole = true;              ///< false: there are more holders

    /// The rest of the lock's lease. None: it is not held, or has no lease and stays until it is
    /// released.
    std::optional<std::chrono::milliseconds> lease{};

    /// How many clients wait, as far as the server knows: the queue of a fair lock, those in the
    /// wait list, or those that listen to the lock's own channel, whichever are more. A client
    /// that only polls is not counted.
    std::int64_t waiting = 0;

    std::int64_t value = 0;  ///< of a counter its number; the permits that are left
};

}  // namespace v0_3
}  // namespace colock
