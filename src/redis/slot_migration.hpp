#pragma once

#include "decide/backoff.hpp"
#include "redis/link_context.hpp"
#include "redis/step_list.hpp"

namespace colock {

/// A slot that moves from one node to another. Neither node can run a step with several keys if
/// some are here and some there. Such steps pause for 5 ms, and longer each time, at most 25 ms: a
/// slot that moves again and again has only short times at one node.
class slot_migration {
public:
    class listener {
    public:
        /// Time to try again.
        virtual void on_rested(step_list) = 0;

    protected:
        ~listener() = default;
    };

    slot_migration(link_context const& context, listener& who) : context_{context}, listener_{who}
    {}
    ~slot_migration() { destroy_pending(); }

    void rest(step& s)
    {
        resting_.push_back(s);
        if (alarm_.is_set())
            return;
        auto const now = clock::now();
        if (now - last_ > milliseconds{1'000})
            pause_.reset();  // it is another move
        last_ = now;
        if (context_.alarms.set(alarm_, now + pause_.next(context_.jitter())))
            context_.alarms_changed();
    }

    void wake()
    {
        alarm_.clear();
        step_list now;
        now.swap(resting_);
        listener_.on_rested(std::move(now));
    }

    step_list take()
    {
        alarm_.clear();
        return std::move(resting_);
    }

    void destroy_pending() noexcept { destroy_tasks(resting_); }

private:
    link_context const& context_;
    listener& listener_;
    step_list resting_;
    decide::backoff pause_{milliseconds{5}, milliseconds{25}};
    time_point last_{};
    decide::alarm_queue::alarm alarm_{[this] { wake(); }};
};

}  // namespace colock
