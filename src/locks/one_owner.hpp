#pragma once

#include "core/core.hpp"
#include "holds/lock_traits.hpp"
#include "holds/ownership.hpp"
#include "holds/ownership_listener.hpp"
#include "locks/re_entry.hpp"
#include "waiting/wait_queue.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock {

/// The queue of a lock that one owner holds at a time, and the ownership of this client.
class one_owner : public wait_queue, public ownership_listener {
public:
    one_owner(core& inside, lock_traits const& how, std::string name)
        : wait_queue{inside, state_of(how.kind), std::move(name)}
        , how_{how}
    {}

    ownership* held() const noexcept { return ownership_.get(); }
    ownership* held(owner const&) const noexcept override { return held(); }
    ownership* with_number(std::uint64_t number) const noexcept override
    {
        return ownership_ && ownership_->number() == number ? held() : nullptr;
    }
    void taken_away(time_point sent) override
    {
        if (ownership_)
            ownership_->taken_away(sent);
    }
    bool is_taken() const noexcept override
    {
        return (ownership_ && ownership_->is_held()) || wait_queue::is_taken();
    }
    void destroy_pending() noexcept override
    {
        ownership_.reset();
        wait_queue::destroy_pending();
    }

protected:
    /// If the owner of this call has the lock, the call enters, or fails. May destroy this.
    bool is_owner_back(std::shared_ptr<waiter> const& who)
    {
        auto const held = ownership_;
        if (!held || !who->shared_owner || held->who() != who->who || !held->is_held())
            return false;
        held->expire(clock::now());  // after a pause of the process no timer has fired yet
        if (held->is_held())
            enter(who);
        else
            who->fail(error::lost);
        return true;
    }

    void enter(std::shared_ptr<waiter> const& who) override
    {
        enter_again(who, ownership_, [this](waiter const& entered) { admit_same_owner(entered); });
    }

    lock_traits const& how_;
    std::shared_ptr<ownership> ownership_;
};

}  // namespace colock
