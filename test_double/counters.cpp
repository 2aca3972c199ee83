#include "counters.hpp"
#include "decide/permit_id.hpp"

#include <algorithm>

namespace colock::testing {

namespace {

// As the scripts have them: one after the other.
std::vector<std::string> ids_in(std::string const& text)
{
    std::vector<std::string> ids;
    for (std::size_t at = 0; at < text.size(); at += decide::permit_id_size)
        ids.push_back(text.substr(at, decide::permit_id_size));
    return ids;
}

// The double has no wait list for permits: all that wait listen to the channel. So the place in
// 'place:channel' is empty.
std::string channel_in(std::string const& text) { return text.substr(text.find(':') + 1); }

}  // namespace

std::int64_t counters::value(std::string const& key) const
{
    auto const at = values_.find(key);
    return at == values_.end() ? 0 : at->second;
}

// Redisson reads no negative number.
std::int64_t counters::tell_left(std::string const& channel, std::int64_t left)
{
    return left >= 0 ? outside_.publish(channel, std::to_string(left)) : 0;
}

std::int64_t counters::change(std::string const& key, std::int64_t by, std::string const& channel)
{
    auto const now = values_[key] += by;
    tell_left(channel, now);
    return now;
}

// The last change of a client runs once: a repeat is answered with its result.
template <class Change>
reply counters::once(script_call const& c, Change const& make)
{
    auto const number = c.number(1);
    if (auto const last = changes_.find(c.key(1));
        last != changes_.end() && last->second.number >= number)
        return reply::of(last->second.result);
    auto const result = make();
    changes_[c.key(1)] = {number, result};
    return reply::of(result);
}

reply counters::set(script_call const& c, std::string const& payload)
{
    auto const last = changes_.find(c.key(1));
    bool const is_repeat = last != changes_.end() && last->second.number >= c.number(1);
    if (!is_repeat && values_.contains(c.key()))
        return reply::of(std::int64_t{0});
    return once(c, [&] {
        values_[c.key()] = c.number(0);
        outside_.publish(c.argument(3), payload);
        return std::int64_t{1};
    });
}

// ---- Semaphores --------------------------------------------------------------------------------

reply counters::semaphore_acquire(script_call const& c)
{
    auto& last = takings_[c.key(1)];
    if (last == c.number(1))
        return reply::of(std::int64_t{1});
    auto const available = outside_.blocks(c.key()) ? 0 : value(c.key());
    bool const is_there = values_.contains(c.key());
    if (!is_there || available < c.number(0) || last > c.number(1))
        return outside_.refuse(available, channel_in(c.argument(3)));
    values_[c.key()] -= c.number(0);
    last = c.number(1);
    return reply::of(std::int64_t{1});
}

reply counters::semaphore_undo(script_call const& c)
{
    auto& last = takings_[c.key(1)];
    bool const had = last == c.number(0) && values_.contains(c.key());
    last = std::max(last, c.number(1));
    if (had)
        change(c.key(), c.number(2), c.argument(4));
    return reply::of(std::int64_t{had});
}

reply counters::semaphore_release(script_call const& c)
{
    return once(c, [&] { return change(c.key(), c.number(0), c.argument(3)); });
}

reply counters::semaphore_release_existing(script_call const& c)
{
    return once(c, [&] {
        bool const is_there = values_.contains(c.key());
        if (is_there)
            change(c.key(), c.number(0), c.argument(3));
        return std::int64_t{is_there};
    });
}

// The double knows no life of a semaphore: it lasts.
reply counters::semaphore_set(script_call const& c)
{
    semaphores_.insert(c.key());
    return set(c, std::to_string(c.number(0)));
}

reply counters::semaphore_drain(script_call const& c)
{
    return once(c, [&] {
        auto const all = outside_.blocks(c.key()) ? 0 : value(c.key());
        if (all != 0)
            values_[c.key()] = 0;
        return all;
    });
}

// ---- Latches -----------------------------------------------------------------------------------

reply counters::latch_set(script_call const& c) { return set(c, "1"); }

reply counters::latch_count_down(script_call const& c)
{
    return once(c, [&] {
        auto const before = value(c.key());
        auto const left = std::max<std::int64_t>(before - c.number(0), 0);
        values_.erase(c.key());
        if (left > 0)
            values_[c.key()] = left;
        else if (before > 0)
            outside_.publish(c.argument(3), "0");
        return left;
    });
}

reply counters::latch_remove(script_call const& c)
{
    return once(c, [&] {
        bool const was_there = values_.erase(c.key()) != 0;
        if (was_there)
            outside_.publish(c.argument(3), "0");
        return std::int64_t{was_there};
    });
}

// Semaphores are asked in the same way: one that is occupied is empty, and a latch is closed.
reply counters::count(script_call const& c)
{
    auto const now = value(c.key());
    if (!outside_.blocks(c.key()))
        return reply::of(now);
    return reply::of(semaphores_.contains(c.key()) ? 0 : std::max<std::int64_t>(now, 1));
}

// ---- Permits with a lease ----------------------------------------------------------------------

std::int64_t counters::ended(lease_list const& leases)
{
    return std::ranges::count_if(leases, [](auto const& p) { return p.second <= clock::now(); });
}

template <class IsOver>
void counters::take_back(script_call const& c, IsOver const& is_over)
{
    auto const count = static_cast<std::int64_t>(std::erase_if(leases_[c.key(1)], is_over));
    if (count == 0)
        return;
    auto const now = values_[c.key()] += count;
    if (now > 0)
        outside_.publish(channel_in(c.argument(2)), std::to_string(now));
}

reply counters::permit_acquire(script_call const& c)
{
    semaphore_of_[c.key(1)] = c.key();
    auto& leases = leases_[c.key(1)];
    auto const ids = ids_in(c.argument(0));
    auto const ends = clock::now() + milliseconds{c.number(1)};
    auto const is_out = [&](std::string const& id) { return leases.contains(id); };
    auto const out = std::ranges::count_if(ids, is_out);
    if (out == std::ssize(ids)) {
        for (auto const& id : ids)
            leases[id] = ends;
        return reply::of(std::int64_t{1});
    }
    // Permits whose lease has ended come back when somebody wants one, and not before. So do those
    // of a repeat that finds only some.
    if (out != 0)
        take_back(c, [&](auto const& p) { return std::ranges::find(ids, p.first) != ids.end(); });
    if (outside_.blocks(c.key()))
        return outside_.refuse(outside::lease, channel_in(c.argument(2)));
    if (out == 0)
        take_back(c, [](auto const& p) { return p.second <= clock::now(); });
    if (value(c.key()) >= std::ssize(ids)) {
        values_[c.key()] -= std::ssize(ids);
        for (auto const& id : ids)
            leases[id] = ends;
        return reply::of(std::int64_t{1});
    }
    auto const first = std::ranges::min_element(leases, {}, [](auto const& p) { return p.second; });
    auto const left =
        first == leases.end() ? -1 : std::max<std::int64_t>(until(first->second).count(), 0);
    return outside_.refuse(left, channel_in(c.argument(2)));
}

reply counters::permit_extend(script_call const& c)
{
    auto& leases = leases_[c.key()];
    auto const mine = leases.find(c.argument(0));
    bool const stands = mine != leases.end() && mine->second > clock::now();
    if (stands)
        mine->second = clock::now() + milliseconds{c.number(1)};
    return reply::of(std::int64_t{stands});
}

reply counters::permit_release(script_call const& c)
{
    auto& leases = leases_[c.key(1)];
    bool is_whole = true;
    std::int64_t count = 0;
    for (auto const& id : ids_in(c.argument(0))) {
        auto const mine = leases.find(id);
        is_whole = is_whole && mine != leases.end() && mine->second > clock::now();
        if (mine == leases.end())
            continue;
        leases.erase(mine);
        ++count;
    }
    if (count == 0)
        return {};
    auto const receivers = tell_left(c.argument(1), values_[c.key()] += count);
    return is_whole ? reply::of(receivers) : reply{};
}

reply counters::permit_return(script_call const& c)
{
    return once(c, [&] {
        auto& leases = leases_[c.key(2)];
        auto const ids = ids_in(c.argument(0));
        bool const all = std::ranges::all_of(ids, [&](std::string const& id) {
            auto const mine = leases.find(id);
            return mine != leases.end() && mine->second > clock::now();
        });
        if (!all)
            return std::int64_t{0};
        for (auto const& id : ids)
            leases.erase(id);
        tell_left(c.argument(3), values_[c.key()] += std::ssize(ids));
        return static_cast<std::int64_t>(ids.size());
    });
}

reply counters::permit_set(script_call const& c)
{
    return once(c, [&] {
        auto& available = values_[c.key()];
        auto const left = c.number(0) - std::ssize(leases_[c.key(2)]);
        if (left > available && left > 0)
            outside_.publish(c.argument(3), std::to_string(left));
        return available = left;
    });
}

reply counters::permit_count(script_call const& c)
{
    auto const& leases = leases_[c.key(1)];
    bool const is_occupied = outside_.occupied.contains(c.key());
    auto const available = is_occupied ? 0 : value(c.key()) + ended(leases);
    return reply::of(std::vector{
        reply::of(available), reply::of(std::ssize(leases) - ended(leases))});
}

std::vector<std::string> counters::held()
{
    std::vector<std::string> names;
    for (auto const& [leases_key, key] : semaphore_of_) {
        auto const& leases = leases_[leases_key];
        if (ended(leases) != std::ssize(leases))
            names.push_back(key);
    }
    return names;
}

bool counters::lose(std::string const& key)
{
    bool had = false;
    for (auto const& [leases_key, semaphore] : semaphore_of_)
        if (semaphore == key) {
            auto& leases = leases_[leases_key];
            had = had || !leases.empty();
            values_[key] += static_cast<std::int64_t>(leases.size());
            leases.clear();
        }
    return had;
}

void counters::lose_all()
{
    for (auto const& [leases_key, key] : semaphore_of_)
        lose(key);
}

}  // namespace colock::testing
