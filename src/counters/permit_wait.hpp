#pragma once

#include "core/core.hpp"
#include "decide/reply.hpp"
#include "waiting/wait_place.hpp"

#include <cstdint>
#include <functional>

namespace colock {

/// How the first of a queue for permits waits after a refusal: its place in the wait list at the
/// server, and the time until it is worth asking.
class permit_wait final {
public:
    /// `wake` ends a sleep. `heard` follows each message of the channel.
    permit_wait(
        core& inside,
        keyed_state const& whose,
        bool has_list,
        event<bool>& wake,
        std::function<void()> heard
    )
        : place{inside, whose, has_list, wake, std::move(heard)}
        , core_{inside}
    {}

    /// An attempt is about to be sent: what was heard before is out of date.
    void begin_attempt() noexcept
    {
        heard_ = never;
        place.begin_attempt();
    }

    /// There may be something at that time, in ms from now, though nobody tells; none if negative.
    void expect(std::int64_t in);

    /// When to ask.
    time_point next();

    /// When to ask because of a message.
    time_point heard() const noexcept { return heard_; }

    /// A message.
    void note_message();

    wait_place place;

private:
    core& core_;
    time_point heard_ = never;
    time_point until_ = never;  ///< when it may change though nobody tells
};

}  // namespace colock
