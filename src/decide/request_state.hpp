#pragma once

#include "decide/time.hpp"

#include <cstdint>
#include <optional>

namespace colock::decide {

/// The state of the one request by which a client takes permits at the server for its waiters, and
/// the client's next step. If the answer to a request is lost, or its waiter left before the
/// answer, the request may have taken permits. It stays open until another waiter wants these
/// permits, or they are given back. An undo whose answer is lost may have given them back, so from
/// then on no waiter may have them.
class request_state {
public:
    enum class action {
        none,   ///< nobody waits, nothing is open
        begin,  ///< send a new request
        again,  ///< send the open one again: its answer was lost
        give,   ///< it has taken, and the first in the queue wants the same
        undo    ///< give back the permits that it may have taken
    };

    /// `waited_for`: the queue has a first waiter; `fits`: it wants the same as the open request.
    action next(bool waited_for, bool fits) const noexcept
    {
        if (is_ == state::idle)
            return waited_for ? action::begin : action::none;
        if (undoing_ || !waited_for || !fits)
            return action::undo;
        return is_ == state::taken ? action::give : action::again;
    }

    /// The answer to the request of `sent` has come now, or is lost now.
    void granted(time_point sent, time_point now) noexcept
    {
        note(sent, now);
        is_ = state::taken;
    }
    void lost(time_point sent, time_point now) noexcept
    {
        note(sent, now);
        is_ = state::unsure;
    }

    /// `stays_out`: what it takes is out for good. If an earlier answer was lost, the server may
    /// still receive that request and grant it; the undo keeps it from that.
    void refused(bool stays_out) noexcept
    {
        if (is_ == state::unsure && stays_out)
            undoing_ = true;
        else
            closed();
    }

    /// The answer of the undo.
    void undo_lost() noexcept { undoing_ = true; }

    /// Given to a waiter, or given back.
    void closed() noexcept { *this = {}; }

    bool is_open() const noexcept { return is_ != state::idle; }
    bool is_taken() const noexcept { return is_ == state::taken; }

    /// The first and the last time at which the open request was sent and may have taken.
    time_point first_sent() const noexcept { return first_sent_; }
    time_point last_sent() const noexcept { return last_sent_; }

    /// The latest time at which it may have taken, as far as the client knows: a slow server runs a
    /// request late, but one whose connection was lost hardly later than that.
    time_point may_have_taken_at() const noexcept { return may_have_taken_at_; }

private:
    enum class state { idle, unsure, taken };

    void note(time_point sent, time_point now) noexcept
    {
        if (is_ == state::idle)
            first_sent_ = sent;
        last_sent_ = sent;
        may_have_taken_at_ = now;
    }

    state is_ = state::idle;
    bool undoing_ = false;
    time_point first_sent_{};
    time_point last_sent_{};
    time_point may_have_taken_at_{};
};

/// How long the client sleeps after a refusal before it asks again without a message: until the
/// time at which something changes of which no message tells, if that is known, but at most the
/// poll cap, shortened by up to a tenth by `jitter` in [0, 1), so that many clients spread.
constexpr milliseconds poll_pause(
    std::optional<milliseconds> until, milliseconds poll_cap, double jitter
) noexcept
{
    auto const cut = static_cast<double>(poll_cap.count()) / 10 * jitter;
    auto const cap = poll_cap - milliseconds{static_cast<std::int64_t>(cut)};
    return until && *until < cap ? *until + milliseconds{1} : cap;
}

}  // namespace colock::decide
