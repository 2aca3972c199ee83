#pragma once

#include "decide/backoff.hpp"
#include "redis/link_context.hpp"
#include "redis/step_list.hpp"

namespace colock {

/// A slot that moves from one node to another. Neither node can run a step with several keys if
/// some are here and some there. Such steps try again at once, then after 5 ms, and longer each
/// time.
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

    static constexpr milliseconds first_pause{5};

    /// The longest pause while the slot moves: one that moves again and again has only short times
    /// at one node.
    static constexpr milliseconds while_it_moves{25};

    /// The longest pause while two nodes redirect to each other: waiting is all that helps.
    static constexpr milliseconds in_a_dispute{100};

    void rest(step& s, milliseconds longest)
    {
        resting_.push_back(s);
        if (alarm_.is_set())
            return;
        auto const now = clock::now();
        if (now - last_ > milliseconds{1'000})
            tries_ = 0;  // it is another move
        last_ = now;
        auto const pause = tries_ == 0
            ? milliseconds{0}
            : decide::backoff_pause(first_pause, longest, 2, tries_, context_.jitter());
        ++tries_;
        if (context_.alarms.set(alarm_, now + pause))
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
    unsigned tries_ = 0;
    time_point last_{};
    decide::alarm_queue::alarm alarm_{[this] { wake(); }};
};

}  // namespace colock
