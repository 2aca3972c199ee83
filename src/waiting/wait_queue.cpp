#include "decide/presence.hpp"
#include "holds/ownership.hpp"
#include "waiting/wait_queue.hpp"

#include <ranges>
#include <vector>

namespace colock {

void wait_queue::join(std::shared_ptr<waiter> const& who)
{
    who->queue = this;
    who->queued = who;
    queue_.push_back(*who);
    if (who->once)
        trying_.push_back(*who);
    if (who->shared_owner)
        by_owner_.insert(*who);
    ++core_.count.waiters;
    if (who->wait)
        core_.set_alarm(who->limit, who->deadline());
}

std::shared_ptr<waiter> wait_queue::take_out(waiter& who)
{
    auto self = std::move(who.queued);
    bool const was_first = &first() == &who;
    unlink(who);
    --core_.count.waiters;
    who.limit.clear();
    who.queue = nullptr;
    if (was_first)
        on_queue_changed();
    return self;
}

void wait_queue::unlink(waiter& who) noexcept
{
    queue_.erase(queue_.iterator_to(who));
    who.trying_hook::unlink();
    who.owner_hook::unlink();
}

void wait_queue::leave(waiter& who, failure why)
{
    bool const was_first = &queue_.front() == &who;
    auto const self = take_out(who);
    who.fail(why);
    on_left(who, was_first);  // which may destroy this
}

void wait_queue::admit_same_owner(waiter const& holder)
{
    if (!holder.shared_owner)
        return;
    auto const life = shared_from_this();
    auto const who = holder.who;
    for (auto at = by_owner_.find(who.number()); held(who) && at != by_owner_.end();
         at = by_owner_.find(who.number())) {
        auto const same = take_out(*at);
        on_left(*same, false);
        if (same->re_entrant)
            enter(same);
        else
            same->fail(error::would_deadlock);
    }
}

void wait_queue::end_waiters(failure why) { end_arrived(core_.last_arrival(), why); }

// Their requests are withdrawn from the end, so that nobody moves up that leaves, too.
void wait_queue::end_arrived(std::uint64_t last, failure why)
{
    auto const life = shared_from_this();
    std::vector<std::shared_ptr<waiter>> gone;
    while (!queue_.empty() && first().arrival <= last) {
        gone.push_back(take_first());
        gone.back()->fail(why);
    }
    for (auto const& who : std::views::reverse(gone))
        on_left(*who, who == gone.front());
}

bool wait_queue::on_forced(std::uint64_t number)
{
    auto* const meant = with_number(number);
    if (meant)
        meant->suspect();
    return meant != nullptr;
}

bool wait_queue::wants(std::uint64_t number) const noexcept
{
    auto const* const meant = with_number(number);
    return meant && meant->is_wanted();
}

void wait_queue::tell(presence& to) const
{
    for (waiter const& who : queue_) {
        if (to.has_enough_waits())
            return;
        if (to.is_old_enough(who.asked))
            to.waits(word_of(kind()), name(), who.who, who.asked);
    }
}

void wait_queue::destroy_pending() noexcept
{
    while (!queue_.empty()) {
        waiter& who = queue_.front();
        unlink(who);
        who.limit.clear();
        who.queue = nullptr;
        auto const self = std::move(who.queued);
        who.done = {};
    }
}

}  // namespace colock
