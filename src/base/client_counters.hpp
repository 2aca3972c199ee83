#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace colock {
inline namespace v0_3 {
namespace detail {

/// The state of a client in numbers, for any thread to read.
struct client_counters {
    std::atomic<std::size_t> holds = 0, waiters = 0, keys = 0, owed_releases = 0, owed_copies = 0;
    std::atomic<std::size_t> subscriptions = 0, links_up = 0;
    std::atomic<std::size_t> mailboxes = 0;  ///< open ones, which `subscriptions` does not count
    std::atomic<std::uint64_t> reconnects = 0;
    std::atomic<std::uint64_t> lost = 0;  ///< holds
    std::atomic<std::size_t> guards = 0;  ///< that have permits, or wait for some
};

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
