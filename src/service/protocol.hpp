#pragma once

#include "colock_scripts.hpp"
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
    bool subscribes;  ///< hears of releases; else it pauses between tries
    bool has_floor;   ///< its tokens are colock's, in blocks; else Redisson's, one by one

    static constexpr protocol of(lock_kind kind) noexcept
    {
        return {
            .subscribes = kind != lock_kind::spin,
            .has_floor = kind != lock_kind::fenced,
        };
    }
};

/// A lock among those of a client.
struct lock_ref {
    lock_kind kind;
    std::string_view name;

    friend bool operator==(lock_ref const&, lock_ref const&) = default;
};

inline lock_ref ref_of(lock_id const& id) noexcept { return {id.kind, id.name}; }

/// What gives an ownership back: a script, and what it takes beside lock, field and channel.
struct release_form {
    static release_form of(lock_ref);

    scripts::script const* what;
    std::vector<std::string> more_keys{};
    std::string_view more_argument{};
};

struct hash_lock_ref {
    std::size_t operator()(lock_ref const& r) const noexcept
    {
        return std::hash<std::string_view>{}(r.name) + static_cast<std::size_t>(r.kind);
    }
};

}  // namespace colock
