#pragma once

#include "core/core.hpp"
#include "core/script_call.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/transport.hpp"

#include <coroutine>
#include <cstdint>
#include <utility>

namespace colock {

/// Sends one step at a time for a task, until the server has decided it:
///
///     do
///         got = co_await sending.send(call);
///     while (co_await sending.repeats(got, terms) && is_wanted());
///
/// `repeats` says whether the step is to be sent again, and awaits the pause before that:
///
/// - replied: no;
/// - refused for the moment, so that nothing was done: after a pause;
/// - lost, so that it may have run: at once if it is idempotent, otherwise no;
/// - failed because the connection is refused, or because memory, replicas or disk are missing:
///   after a pause if it is owed, otherwise no;
/// - failed otherwise: no;
/// - withdrawn: at once, if the task still wants it.
///
/// A stopped client sends nothing again, and no client does after the time of the terms. The pauses
/// grow with each refusal until there is another answer, and end early when a server is reached
/// again. A task may send another step each time, because more may be wanted by then.
class reliable {
public:
    struct terms {
        bool idempotent = false;
        bool owed = false;
        time_point until = never;
    };

    explicit reliable(core& inside) noexcept : core_{inside} {}

    core& inside() const noexcept { return core_; }

    /// A step that is not written by then is taken back. Await the result once: it is the answer.
    [[nodiscard]] auto send(step& what, time_point until = never)
    {
        struct awaiting {
            bool await_ready() const noexcept { return of.step_->answered.await_ready(); }
            void await_suspend(std::coroutine_handle<> task)
            {
                of.step_->answered.await_suspend(task);
                if (!of.core_.is_stopped())  // which an alarm would keep busy
                    of.core_.set_alarm(of.expiry_, until);
            }
            answer await_resume()
            {
                of.expiry_.clear();
                return std::exchange(of.step_, nullptr)->answered.await_resume();
            }

            reliable& of;
            time_point until;
        };
        step_ = &what;
        core_.transport().submit(what);
        return awaiting{*this, until};
    }

    /// Whether a step with this answer is to be sent again.
    bool may_repeat(answer const& got, terms const& how) const noexcept
    {
        return after(got, how) != next::over;
    }

    /// The same, after the pause. Await the result once.
    [[nodiscard]] auto repeats(answer const& got, terms const& how)
    {
        struct awaiting {
            bool await_ready() const noexcept { return then != next::later; }
            void await_suspend(std::coroutine_handle<> task)
            {
                of.pause_.over.await_suspend(task);
                of.core_.rest(of.pause_, of.core_.repeat_pause(of.refusals_));
            }
            bool await_resume() const noexcept
            {
                of.pause_.over.reset();
                return then != next::over && !of.core_.is_stopped();
            }

            reliable& of;
            next then;
        };
        auto const then = after(got, how);
        if (then == next::later)
            ++refusals_;
        else if (got.what != answer::kind::withdrawn)
            refusals_ = 0;
        return awaiting{*this, then};
    }

    /// The answer of a step is awaited.
    explicit operator bool() const noexcept { return step_ != nullptr; }
    step const* operator->() const noexcept { return step_; }

    /// Takes back a step that is not written yet, or ends a pause. True if the task has gone on
    /// inside the call, which may destroy this. The answer of a written step is still awaited.
    bool withdraw()
    {
        bool const goes_on = step_ ? core_.transport().withdraw(*step_) : pause_.is_linked();
        if (goes_on && step_)
            step_->answered.set({});
        else if (goes_on)
            pause_.finish();
        return goes_on;
    }

private:
    enum class next { over, at_once, later };

    next after(answer const& got, terms const& how) const noexcept
    {
        if (got.what == answer::kind::replied || core_.is_stopped() || clock::now() >= how.until)
            return next::over;
        switch (got.what) {
        case answer::kind::replied: break;
        case answer::kind::withdrawn: return next::at_once;
        case answer::kind::lost: return how.idempotent ? next::at_once : next::over;
        case answer::kind::not_now: return next::later;
        case answer::kind::failed:
            return how.owed && (got.passing || is_unsent(got)) ? next::later : next::over;
        }
        return next::over;
    }

    core& core_;
    step* step_ = nullptr;
    core::pause pause_;
    decide::alarm_queue::alarm expiry_{[this] { withdraw(); }};
    std::uint32_t refusals_ = 0;  ///< in a row
};

}  // namespace colock
