#pragma once

#include "redis/transport.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/intrusive/list.hpp>

namespace colock {

using detail::core;

/// The place of an ownership among all of a client.
struct in_hold_registry;
using registry_hook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<in_hold_registry>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

struct registry_entry : registry_hook {
    /// It has not ended.
    bool is_listed() const noexcept { return registry_hook::is_linked(); }
};

/// All that a client holds: the ownerships that have not ended.
class hold_registry {
public:
    explicit hold_registry(core& inside) noexcept : core_{inside}, next_release_{all_.end()} {}

    void add(registry_entry& held) { all_.push_back(held); }
    void remove(registry_entry&) noexcept;
    bool is_empty() const noexcept { return all_.empty(); }

    /// The servers of these slots may be other ones: asks whether they still have it.
    void confirm(slot_filter const&);

    /// The client closes: releases all of them, some at a time. `release_more` goes on when one of
    /// them is gone.
    void release_all();
    void release_more();

    /// Destroys handlers without calling them, because the context is destroyed.
    void destroy_pending() noexcept;

private:
    using list = boost::intrusive::list<
        registry_entry,
        boost::intrusive::base_hook<registry_hook>,
        boost::intrusive::constant_time_size<false>>;

    core& core_;
    list all_;
    list::iterator next_release_;  ///< while closing: the first one to release
    bool releasing_ = false;
};

}  // namespace colock
