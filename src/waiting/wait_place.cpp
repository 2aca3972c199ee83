#include "core/keyed_state.hpp"
#include "waiting/wait_place.hpp"

#include <utility>

namespace colock {

wait_place::wait_place(
    core& inside,
    keyed_state const& whose,
    bool has_list,
    event<bool>& ask,
    std::function<void()> heard
)
    : core_{inside}
    , slot_{whose.slot()}
    , has_list_{has_list}
    , ask_{ask}
    , heard_{std::move(heard)}
{}

void wait_place::note(decide::acquire_answer const& got) noexcept
{
    if (!got.stands)
        it_ = standing::outside;
    else if (!got.is_first)
        it_ = standing::behind;
    else
        it_ = got.is_foreign ? standing::first_to_foreigner : standing::first;
    if (got.stands)
        since_ = got.since;
    if (has_list_)
        core_.mailbox().open(slot_);
}

// Until the mailbox is live, or refused, there is nothing to be done but to wait for that.
bool wait_place::needs_channel() const noexcept
{
    if (stands())
        return it_ == standing::first_to_foreigner;
    return !has_list_ || known_at_.is_live || core_.mailbox().of(slot_).is_refused;
}

void wait_place::begin_joining()
{
    known_at_ = core_.mailbox().of(slot_);
    it_ = standing::joining;
}

void wait_place::joined(std::int64_t since) noexcept
{
    if (!is_joining())
        return;
    it_ = since != 0 ? standing::joined : standing::outside;
    if (since != 0)
        since_ = since;
}

// If the release is still under way, its answer comes too late.
void wait_place::forget_release() noexcept
{
    if (it_ == standing::joining)
        it_ = standing::outside;
    else if (it_ == standing::joined)
        it_ = standing::behind;
}

bool wait_place::awaits_turn() noexcept
{
    bool const is_new = it_ == standing::joined;
    forget_release();
    return is_new && core_.mailbox().of(slot_) == known_at_;
}

void wait_place::over() noexcept
{
    unsubscribe();
    since_ = 0;
    it_ = standing::outside;
}

void wait_place::unsubscribe()
{
    if (!channel_.empty())
        core_.subscriptions().remove(std::exchange(channel_, {}), *this);
}

}  // namespace colock
