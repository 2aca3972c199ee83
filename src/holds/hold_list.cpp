#include "core/core.hpp"
#include "decide/presence.hpp"
#include "holds/hold_list.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using status = hold_state::status;

std::size_t hold_list::living() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(holds_, [](hold_state const& h) {
        return h.is_confirmed();
    }));
}

bool hold_list::is_wanted() const noexcept
{
    return std::ranges::any_of(holds_, [](hold_state const& h) {
        return h.current_status() == status::held;
    });
}

time_point hold_list::drop_lost_beside(hold_state const& last) noexcept
{
    time_point kept{};
    for (auto const& hold : holds_)
        if ((hold.current_status() == status::lost) == (&hold == &last))
            return kept;
    for (auto at = holds_.begin(); at != holds_.end();)
        if (auto& hold = *at++; &hold != &last) {
            kept = std::max(kept, hold.born + hold.at_least);
            hold.unlink();
        }
    return kept;
}

bool hold_list::is_renewed(hold_state const& hold, time_point now) const noexcept
{
    return hold.current_status() == status::held &&
        hold.is_renewed(now, hold.inside->settings().max_hold);
}

milliseconds hold_list::promised(time_point now) const noexcept
{
    milliseconds longest{0};
    for (auto const& hold : holds_)
        if (hold.current_status() == status::held)
            longest = std::max(longest, hold.promise(now, hold.inside->settings().max_hold));
        else if (hold.stays_taken(now))  // although it was lost
            longest = std::max(longest, ceil<milliseconds>(hold.born + hold.at_least - now));
    return longest;
}

milliseconds hold_list::shortest_due(time_point now) const noexcept
{
    auto shortest = milliseconds::max();
    for (auto const& hold : holds_)
        if (hold.is_confirmed() && (is_renewed(hold, now) || hold.is_short(hold.promised_until())))
            shortest = std::min(shortest, std::min(hold.lease, hold.proven));
    return shortest;
}

time_point hold_list::lose_at(hold_state const& hold) const noexcept
{
    return hold.lose_at(hold.promised_until(), hold.inside->settings().loss_margin);
}

time_point hold_list::lose_at() const noexcept
{
    auto first = never;
    for (auto const& hold : holds_)
        if (hold.is_confirmed())
            first = std::min(first, lose_at(hold));
    return first;
}

decide::copies hold_list::wants() const noexcept
{
    decide::copies all;
    for (auto const& hold : holds_)
        if (hold.current_status() == status::held)
            all |= hold.wants;
    return all;
}

void hold_list::confirm(
    time_point sent,
    milliseconds set,
    milliseconds sure,
    answer const& by,
    hold_operations const& asking
)
{
    auto const now = clock::now();
    for (auto& hold : holds_) {
        bool const asked =
            std::ranges::any_of(asking, [&](auto const& who) { return who->hold.get() == &hold; });
        if ((!asked && !hold.is_confirmed()) || !by.has.covers(hold.wants))
            continue;
        if (hold.born == time_point{})
            hold.born = now;
        hold.confirm(sent, set, sure, asked || is_renewed(hold, now), by.replicas);
    }
}

bool hold_list::is_due(hold_state const& hold, time_point now) const noexcept
{
    return hold.is_confirmed() && now >= lose_at(hold);
}

void hold_list::lose_due(time_point now, server_field const& of)
{
    for (auto& hold : holds_)
        if (is_due(hold, now))
            lose(hold, error::lost, hold.why_unproven(hold.inside->settings().max_hold), of);
}

void hold_list::lose_all(failure why, server_field const& of)
{
    for (auto& hold : holds_)
        lose(hold, why, of.how().why_gone, of);
}

void hold_list::lose(
    hold_state& hold, failure why, std::string_view because, server_field const& of
)
{
    if (hold.current_status() != status::held)
        return;
    hold.lose();
    if (!hold.given)
        return;  // its acquire fails, and no owner has relied on it
    ++hold.inside->count.lost;
    hold.inside->tell(events::lost{of.name(), of.shown_id(), why, because});
}

void hold_list::remove(hold_state& hold, failure why, server_field const& of)
{
    hold.unlink();
    if (hold.current_status() == status::held && hold.given)
        hold.inside->tell(events::released{
            of.name(), std::chrono::duration_cast<microseconds>(clock::now() - hold.born)});
    hold.mark_released(why);
}

void hold_list::tell(presence& to, server_field const& of) const
{
    auto const first = std::ranges::find_if(holds_, &hold_state::is_confirmed);
    if (first != holds_.end() && to.is_old_enough(first->born))
        to.holds(of.kind_word(), of.name(), of.shown_id(), first->who, first->born);
}

void hold_list::destroy_pending() noexcept
{
    while (!holds_.empty()) {
        auto& hold = holds_.front();
        holds_.pop_front();  // a handler may own holds of this ownership
        auto const waits = std::exchange(hold.loss_waits, nullptr);
    }
}

}  // namespace colock
