#pragma once

#include "colock_scripts.hpp"
#include "decide/names.hpp"
#include "decide/reply.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/detail/lock_id.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

using detail::lock_id;
using detail::lock_kind;

class wait_queue;
using detail::core;

/// How a kind of lock that is one hash in Redis differs from the others, and from a permit. The
/// table of all kinds of locks is in `locks/lock_table.cpp`.
struct lock_traits {
    static lock_traits const& of_permits() noexcept;

    struct script_set {
        scripts::script const* acquire = &scripts::acquire;
        scripts::script const* extend = &scripts::extend;
        scripts::script const* renew = &scripts::renew;
        scripts::script const* release = &scripts::release;
        scripts::script const* force = &scripts::force;
    };

    lock_kind kind = lock_kind::plain;
    script_set script{};

    bool has_list = false;   ///< its own waiters stand there
    bool subscribes = true;  ///< gets messages of releases; otherwise it pauses between tries
    bool has_redisson_tokens = false;  ///< which are drawn one by one, with or without fencing
    bool has_queue = false;            ///< its queue is in Redis
    bool has_leases = false;  ///< shared: each hold has its own key; their prefix is an argument

    bool may_be_taken_over = false;  ///< by a claim

    bool is_permit = false;  ///< an id among the leases of a semaphore

    std::string_view why_gone = "the server no longer has it (expired, deleted or forced)";
    /// An owner that has the lock of this kind and the same name keeps this one closed, too.
    std::optional<lock_kind> closed_by{};
    std::string_view side{};       ///< of a read-write lock, as its force takes it
    std::string_view field_end{};  ///< the end of its fields
    std::string (*channel)(std::string_view name, std::string_view prefix) = &decide::lock_channel;
    bool decide::inspect_answer::*held = &decide::inspect_answer::locked;

    /// Its releases tell the first of a wait list at the server.
    bool tells_list() const noexcept { return !has_queue; }

    /// A side of a read-write lock: there may be an ownership of the other side with the same
    /// field.
    bool is_side() const noexcept { return !side.empty(); }

    /// Makes the state of one lock in a client, where its waiters wait.
    std::shared_ptr<wait_queue> (*make_state)(core&, lock_traits const&, std::string name) =
        nullptr;

    // `prefix` is the client's key prefix; the name begins with it.

    /// The prefix of the lease keys of its holds; empty if there are none.
    std::string leases(std::string_view name, std::string_view prefix) const;

    /// The keys of its queue; none if it has no queue.
    std::vector<std::string> queue_keys(std::string_view name, std::string_view prefix) const;

    /// The further argument of a release, behind all others; empty if none.
    std::string release_argument(std::string_view name, std::string_view prefix) const;
};

}  // namespace colock
