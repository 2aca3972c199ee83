#include "decide/subscription_table.hpp"

#include <utility>

namespace colock::decide {

subscription_table::state subscription_table::add(std::string_view name, time_point now)
{
    auto at = channels_.find(name);
    if (at == channels_.end())
        at = channels_.emplace(std::string{name}, channel{}).first;
    channel& c = at->second;
    if (c.is_remembered())
        --remembered_;
    if (c.waiters++ == 0 && c.is == state::wanted)
        wanted_.push_back(at->first);
    if (c.is == state::refused && c.until <= now) {
        c.is = state::wanted;
        wanted_.push_back(at->first);
    }
    return c.is;
}

void subscription_table::remove(std::string_view name, time_point now, bool lingers)
{
    auto const at = channels_.find(name);
    if (at == channels_.end() || at->second.waiters == 0 || --at->second.waiters != 0)
        return;
    // A refused channel is remembered, because otherwise each new waiter would restart the link.
    if (at->second.is_remembered())
        ++remembered_;
    else
        at->second.until = lingers ? now + linger_ : now;
    list(at);
}

// One entry per channel: a channel that comes and goes is looked at when its first time has passed.
void subscription_table::list(map_type::iterator at)
{
    if (!std::exchange(at->second.is_listed, true))
        expiries_.emplace(at->second.until, at->first);
}

void subscription_table::link_up()
{
    up_ = true;
    busy_ = false;
    wanted_.clear();
    for (auto& [name, c] : channels_)
        if (c.is != state::refused) {
            c.is = state::wanted;
            wanted_.push_back(name);
        }
}

void subscription_table::link_down()
{
    up_ = false;
    busy_ = false;
    for (auto& [name, c] : channels_)
        if (c.is != state::refused)
            c.is = state::wanted;
}

bool subscription_table::confirm(std::string_view name)
{
    auto const at = channels_.find(name);
    if (at == channels_.end())
        return false;
    if (at->second.is == state::wanted || at->second.is == state::refused)
        return false;  // of an earlier subscription, ended since
    at->second.is = state::live;
    return at->second.waiters != 0;
}

void subscription_table::take_wanted(change& next)
{
    for (auto const& name : std::exchange(wanted_, {})) {
        auto const at = channels_.find(name);
        if (at == channels_.end() || at->second.is != state::wanted)
            continue;
        at->second.is = state::asked;
        next.subscribe.push_back(name);
    }
}

void subscription_table::take_expired(change& next, time_point now)
{
    while (!expiries_.empty() && expiries_.begin()->first <= now) {
        auto const at = channels_.find(expiries_.begin()->second);
        expiries_.erase(expiries_.begin());
        if (at == channels_.end())
            continue;
        channel& c = at->second;
        c.is_listed = false;
        bool const is_wanted = c.waiters != 0;
        if (is_wanted && c.is == state::refused && c.until > now) {
            list(at);
            continue;
        }
        if (is_wanted && c.is == state::refused) {
            c.is = state::wanted;
            wanted_.push_back(at->first);
        }
        if (is_wanted)
            continue;
        if (c.until > now) {  // another waiter has come and gone since
            list(at);
            continue;
        }
        if (up_ && (c.is == state::live || c.is == state::asked))
            next.unsubscribe.push_back(at->first);
        if (c.is_remembered())
            --remembered_;
        channels_.erase(at);
    }
}

subscription_table::change subscription_table::next_change(time_point now)
{
    change next;
    if (busy_)
        return next;
    take_expired(next, now);
    if (!up_) {
        wanted_.clear();  // it begins again with the link
        return next;
    }
    take_wanted(next);
    busy_ = !next.empty();
    return next;
}

void subscription_table::change_done() { busy_ = false; }

void subscription_table::refuse(std::string_view name, time_point until)
{
    auto const at = channels_.find(name);
    if (at == channels_.end())
        return;
    bool const is_remembered = at->second.is_remembered();
    at->second.is = state::refused;
    if (!is_remembered && at->second.is_remembered())
        ++remembered_;
    at->second.until = until;
    at->second.is_listed = true;
    expiries_.emplace(until, at->first);  // perhaps beside a later one
}

bool subscription_table::is_refused(std::string_view name, time_point now) const
{
    auto const at = channels_.find(name);
    return at != channels_.end() && at->second.is == state::refused &&
        at->second.until > now + short_memory;
}

bool subscription_table::end_by_server(std::string_view name)
{
    auto const at = channels_.find(name);
    if (at == channels_.end() || at->second.is != state::live)
        return false;
    at->second.is = state::wanted;
    if (at->second.waiters != 0)
        wanted_.push_back(at->first);
    return true;
}

time_point subscription_table::next_expiry() const noexcept
{
    return expiries_.empty() || busy_ ? never : expiries_.begin()->first;
}

}  // namespace colock::decide
