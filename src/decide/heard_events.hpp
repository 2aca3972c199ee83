#pragma once

#include "decide/time.hpp"
#include <colock/lock_event.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

namespace colock::decide {

/// Reads events in the messages about a lock, and keeps those that nobody has asked for yet.
///
/// A release that deletes the key is heard twice, if the server tells of keys: its event comes just
/// before the message.
class heard_events {
public:
    explicit heard_events(std::size_t limit) : limit_{limit} {}

    /// All channels are heard from now on, perhaps again.
    void on_live(time_point at)
    {
        is_held_ = is_told_ = false;
        add(lock_event::kind::live, at);
    }

    /// An event of the lock's key.
    void on_key(std::string_view what, time_point at)
    {
        bool const is_write = what == "hset" || what == "hincrby";
        bool const is_over = what == "del" || what == "expired" || what == "evicted";
        if (is_write && !is_held_)
            add(lock_event::kind::acquired, at);
        else if (is_over)
            add(what == "expired" ? lock_event::kind::expired : lock_event::kind::released, at);
        is_held_ = is_write || (is_held_ && !is_over);
        is_told_ = what == "del";
    }

    /// A message on the lock's channel.
    void on_release(time_point at)
    {
        is_held_ = false;
        if (!std::exchange(is_told_, false))
            add(lock_event::kind::released, at);
    }

    /// A message on the channel of its requests.
    void on_request(time_point at) { add(lock_event::kind::requested, at); }

    std::optional<lock_event> take()
    {
        if (kept_.empty())
            return {};
        auto const first = kept_.front();
        kept_.pop_front();
        return first;
    }

private:
    void add(lock_event::kind what, time_point at)
    {
        if (kept_.size() >= limit_) {
            kept_.clear();
            what = lock_event::kind::live;
        }
        kept_.push_back({what, at});
    }

    std::size_t limit_;
    std::deque<lock_event> kept_;
    bool is_held_ = false;  ///< since the last event that says so
    bool is_told_ = false;  ///< the release whose message comes next
};

}  // namespace colock::decide
