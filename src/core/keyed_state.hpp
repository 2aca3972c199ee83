#pragma once

#include "redis/transport.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace colock {

using detail::core;

/// State that a core keeps beside the exclusive locks and the ownerships, for as long as it has
/// something to do: a queue for permits or updates, a fair lock, a permit. Found by a key of its
/// own.
class keyed_state : public std::enable_shared_from_this<keyed_state> {
public:
    keyed_state(core& inside, std::string state_key, unsigned slot);
    keyed_state(keyed_state const&) = delete;
    keyed_state& operator=(keyed_state const&) = delete;
    virtual ~keyed_state() = default;

    std::string const& state_key() const noexcept { return state_key_; }
    unsigned slot() const noexcept { return slot_; }

    /// The link of its slot has a new connection.
    virtual void on_link_up() = 0;

    /// Refuses new calls from now on.
    virtual void end_waiters(error_code why) = 0;

    /// The client closes: releases its holds.
    virtual void release_all() = 0;

    /// Destroys handlers without calling them, because the context is destroyed.
    virtual void destroy_pending() noexcept = 0;

protected:
    /// It has nothing left to do: the core forgets it, which may destroy it.
    void unregister() noexcept;

    core& core_;

private:
    std::string state_key_;
    unsigned slot_;
};

/// All keyed state of a core.
class keyed_state_registry {
public:
    /// The state with this key, or nothing.
    keyed_state* find(std::string const& state_key) const noexcept;
    void add(std::shared_ptr<keyed_state>);

    /// Removes it, if it is there.
    std::shared_ptr<keyed_state> remove(keyed_state&) noexcept;

    /// A copy, because calls may add and drop entries.
    std::vector<std::shared_ptr<keyed_state>> all() const;

    // The same call for all of them.
    void on_link_up(slot_filter const&);
    void end_waiters(error_code why);
    void release_all();
    void destroy_pending() noexcept;

    bool is_empty() const noexcept { return known_.empty(); }

private:
    std::unordered_map<std::string, std::shared_ptr<keyed_state>> known_;
};

}  // namespace colock
