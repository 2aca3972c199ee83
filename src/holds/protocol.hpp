#pragma once

#include "colock_scripts.hpp"
#include "decide/names.hpp"
#include <colock/detail/lock_id.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

using detail::lock_id;
using detail::lock_kind;

/// The differences between the kinds of locks that are one hash in Redis, and permits.
struct protocol {
    static protocol const& of(lock_kind) noexcept;
    static protocol const& of_permits() noexcept;

    scripts::script const* acquire = &scripts::acquire;
    scripts::script const* extend = &scripts::extend;
    scripts::script const* renew = &scripts::renew;
    scripts::script const* release = &scripts::release;
    scripts::script const* force = &scripts::force;

    bool has_list = false;    ///< its releases tell the first of a wait list at the server
    bool subscribes = true;   ///< gets messages of releases; otherwise it pauses between tries
    bool has_floor = true;    ///< tokens in blocks; otherwise Redisson's, one by one
    bool has_queue = false;   ///< its queue is in Redis
    bool has_leases = false;  ///< each hold has its own key; their prefix is an argument
    bool is_side = false;     ///< a side of a read-write lock: there may be a reader too

    bool is_permit = false;  ///< an id among the leases of a semaphore

    std::string_view why_gone = "the server no longer has it (expired, deleted or forced)";
    std::string_view field_end{};  ///< the end of its fields
    std::string (*channel)(std::string_view name, std::string_view prefix) = &decide::lock_channel;

    // `prefix` is the client's key prefix; the name begins with it.

    /// The prefix of the lease keys of its holds; empty if there are none.
    std::string leases(std::string_view name, std::string_view prefix) const;

    /// The keys of its queue; none if it has no queue.
    std::vector<std::string> queue_keys(std::string_view name, std::string_view prefix) const;

    /// Its scripts take a place in the wait list, with the channel.
    bool names_place() const noexcept { return release == &scripts::release; }

    /// The further argument of a release, after lock, field and channel; empty if none.
    std::string release_argument(std::string_view name, std::string_view prefix) const;
};

/// Identifies a lock of a client.
struct lock_ref {
    lock_kind kind;
    std::string_view name;

    friend bool operator==(lock_ref const&, lock_ref const&) = default;
};

inline lock_ref ref_of(lock_id const& id) noexcept { return {id.kind, id.name}; }

}  // namespace colock
