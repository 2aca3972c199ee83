#pragma once

#include "decide/linked_list.hpp"
#include "decide/outage.hpp"
#include "redis/transport.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>

#include <atomic>

namespace colock {

class presence;
using detail::core;
using detail::hold_ptr;

/// The place of an ownership among all of a client.
struct in_hold_registry;
using registry_hook = decide::list_hook<in_hold_registry>;

/// All that a client holds: the ownerships that have not ended, and on their way to the strand, the
/// holds that their owners have dropped on any thread.
class hold_registry {
public:
    explicit hold_registry(core& inside) noexcept : core_{inside}, next_release_{all_.end()} {}

    void add(registry_hook& held) { all_.push_back(held); }
    void remove(registry_hook&) noexcept;
    bool is_empty() const noexcept { return all_.empty(); }

    /// Tells the client's report what is held longest.
    void tell(presence&) const;

    /// The servers of these slots may be other ones: asks whether they still have it.
    void confirm(slot_filter const&);

    /// How many holds it has said that of.
    decide::outage::holds count() const;

    /// The client closes: releases all of them, some at a time. `release_more` goes on when one of
    /// them is gone.
    void release_all();
    void release_more();

    /// A hold was dropped. From any thread; never throws.
    void drop(hold_ptr) noexcept;
    bool has_dropped() const noexcept { return first_dropped_; }

    /// Releases the dropped holds, or only destroys them if the context is destroyed.
    void release_dropped() noexcept;

    /// Destroys handlers without calling them, because the context is destroyed.
    void destroy_pending() noexcept;

private:
    using list = decide::linked_list<registry_hook, registry_hook>;

    core& core_;
    list all_;
    list::iterator next_release_;  ///< while closing: the first one to release
    bool releasing_ = false;
    std::atomic<detail::hold_state*> first_dropped_ = nullptr;
};

}  // namespace colock
