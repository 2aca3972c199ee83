#pragma once

#include "decide/answer.hpp"

namespace colock::decide {

/// The meaning of the answer to an acquire, for the call that waits.
struct outcome {
    enum class kind {
        withdrawn,  ///< it was not sent, because nobody wanted it any more
        pause,      ///< nothing was done; it is to be sent again after a pause
        lost,       ///< nobody knows whether it has run
        failed,     ///< no repeat helps: `why`
        granted,
        unsynced,  ///< granted, but too few replicas have it: `why`
        refused    ///< somebody else has it
    };

    kind what;
    failure why{};

    /// The server may have granted it, and a slow server just now: so it may exist there, for a
    /// whole lease from now on, without a holder.
    bool may_stand = false;
};

/// `read`: what a reply says. `was_alone`: the server had refused to run it together with others.
/// The first call may have taken the lock then, before it failed because of another lock.
inline outcome judge(answer const& got, acquire_answer const& read, bool was_alone = false) noexcept
{
    using kind = outcome::kind;
    switch (got.what) {
    case answer::kind::withdrawn: return {kind::withdrawn, {}, was_alone};
    case answer::kind::not_now: return {kind::pause, {}, was_alone};
    case answer::kind::failed: return {kind::failed, got.ec, was_alone};
    case answer::kind::lost: return {kind::lost, {}, true};
    case answer::kind::replied: break;
    }
    switch (read.what) {
    case acquire_answer::kind::granted:
        return {got.unsynced ? kind::unsynced : kind::granted, got.unsynced, true};
    case acquire_answer::kind::refused: return {kind::refused};
    case acquire_answer::kind::malformed: break;
    }
    return {kind::failed, error::bad_reply, true};
}

}  // namespace colock::decide
