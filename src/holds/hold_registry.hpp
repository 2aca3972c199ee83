#pragma once

#include "holds/ownership.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/intrusive/list.hpp>

namespace colock {

using detail::core;

/// All that a client holds: what has not ended.
class hold_registry {
public:
    explicit hold_registry(core& inside) noexcept : core_{inside}, next_release_{all_.end()} {}

    void add(ownership& held) { all_.push_back(held); }
    void remove(ownership&) noexcept;
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
        ownership,
        boost::intrusive::base_hook<registry_hook>,
        boost::intrusive::constant_time_size<false>>;

    core& core_;
    list all_;
    list::iterator next_release_;  ///< while closing: the first one to release
    bool releasing_ = false;
};

}  // namespace colock
