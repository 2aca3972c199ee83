#include "core/keyed_state.hpp"
#include "waiting/wait_place.hpp"

#include <utility>

namespace colock {

wait_place::wait_place(
    core& inside,
    keyed_state const& whose,
    bool has_list,
    event<bool>& ask,
    std::function<void(std::string_view)> heard
)
    : core_{inside}
    , slot_{whose.slot()}
    , has_list_{has_list}
    , ask_{ask}
    , heard_{std::move(heard)}
{}

void wait_place::note(decide::acquire_answer const& got) noexcept
{
    stands_ = got.stands;
    is_first_ = got.is_first;
    is_foreign_ = got.is_foreign;
    if (got.stands)
        since_ = got.since;
    if (has_list_)
        core_.mailbox().open(slot_);
}

// Until the mailbox is live, or refused, there is nothing to be done but to wait for that.
bool wait_place::needs_channel(bool named) const noexcept
{
    if (stands_)
        return is_first_ && is_foreign_;
    return !has_list_ || named || core_.mailbox().of(slot_).is_refused;
}

void wait_place::begin_joining()
{
    known_at_ = core_.mailbox().of(slot_);
    by_release_ = joining::sent;
}

void wait_place::joined(std::int64_t since) noexcept
{
    if (by_release_ != joining::sent)
        return;
    by_release_ = since != 0 ? joining::stands : joining::no;
    stands_ = since != 0;
    is_first_ = false;
    if (stands_)
        since_ = since;
}

bool wait_place::awaits_turn() noexcept
{
    bool const stands = std::exchange(by_release_, joining::no) == joining::stands;
    return stands && core_.mailbox().of(slot_) == known_at_;
}

void wait_place::over() noexcept
{
    unsubscribe();
    since_ = 0;
    stands_ = false;
    by_release_ = joining::no;
}

void wait_place::unsubscribe()
{
    hears_ = false;
    if (!channel_.empty())
        core_.subscriptions().remove(std::exchange(channel_, {}), *this);
}

// Messages from before the subscription were missed.
void wait_place::on_subscribed()
{
    hears_ = true;
    ask_.set(true);
}

}  // namespace colock
