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

/// Where the kinds of locks differ that one hash in Redis is the whole of.
struct protocol {
    static protocol const& of(lock_kind) noexcept;

    scripts::script const* acquire = &scripts::acquire;
    scripts::script const* extend = &scripts::extend;
    scripts::script const* renew = &scripts::renew;
    scripts::script const* release = &scripts::release;
    scripts::script const* force = &scripts::force;

    bool subscribes = true;   ///< hears of releases; else it pauses between tries
    bool has_floor = true;    ///< its tokens are colock's, in blocks; else Redisson's, one by one
    bool has_queue = false;   ///< who waits stands in Redis
    bool has_leases = false;  ///< each hold has a key of its own; their prefix is an argument
    bool is_side = false;     ///< of a read-write lock: a reader may be beside

    std::string_view field_end{};  ///< what its fields end with
    std::string (*channel)(std::string_view name, std::string_view prefix) = &decide::lock_channel;

    // `prefix` is that of the client, with which the name begins.

    /// What the leases of its holds begin with; empty without.
    std::string leases(std::string_view name, std::string_view prefix) const;

    /// The keys of its queue; none without.
    std::vector<std::string> queue_keys(std::string_view name, std::string_view prefix) const;

    /// What a release takes beside lock, field and channel; empty if nothing.
    std::string release_argument(std::string_view name, std::string_view prefix) const;
};

/// A lock among those of a client.
struct lock_ref {
    lock_kind kind;
    std::string_view name;

    friend bool operator==(lock_ref const&, lock_ref const&) = default;
};

inline lock_ref ref_of(lock_id const& id) noexcept { return {id.kind, id.name}; }

struct hash_lock_ref {
    std::size_t operator()(lock_ref const& r) const noexcept
    {
        return std::hash<std::string_view>{}(r.name) + static_cast<std::size_t>(r.kind);
    }
};

}  // namespace colock
