#include "counters.hpp"

#include <algorithm>

namespace colock::testing {

std::int64_t counters::value(std::string const& key) const
{
    auto const at = values_.find(key);
    return at == values_.end() ? 0 : at->second;
}

std::int64_t counters::change(std::string const& key, std::int64_t by, std::string const& channel)
{
    auto const now = values_[key] += by;
    outside_.publish(channel, std::to_string(now));
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
        return outside_.refuse(available, c.argument(3));
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

reply counters::semaphore_set(script_call const& c)
{
    semaphores_.insert(c.key());
    return set(c, c.argument(0));
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

// Permits whose lease has ended come back when somebody wants one, and not before.
void counters::end_leases(script_call const& c)
{
    auto& leases = leases_[c.key(1)];
    auto const count = ended(leases);
    if (count == 0)
        return;
    std::erase_if(leases, [](auto const& p) { return p.second <= clock::now(); });
    auto const now = values_[c.key()] += count;
    if (now > 0)
        outside_.publish(c.argument(2), std::to_string(now));
}

reply counters::permit_acquire(script_call const& c)
{
    semaphore_of_[c.key(1)] = c.key();
    auto& leases = leases_[c.key(1)];
    auto const ends = clock::now() + milliseconds{c.number(1)};
    if (auto const mine = leases.find(c.argument(0)); mine != leases.end()) {
        mine->second = ends;
        return reply::of(std::int64_t{1});
    }
    if (outside_.blocks(c.key()))
        return outside_.refuse(outside::lease, c.argument(2));
    end_leases(c);
    if (value(c.key()) >= 1) {
        --values_[c.key()];
        leases[c.argument(0)] = ends;
        return reply::of(std::int64_t{1});
    }
    auto const first = std::ranges::min_element(leases, {}, [](auto const& p) { return p.second; });
    auto const left = first == leases.end() ? -1 : until(first->second).count();
    return outside_.refuse(left, c.argument(2));
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
    auto const mine = leases.find(c.argument(0));
    if (mine == leases.end())
        return {};
    bool const had_ended = mine->second <= clock::now();
    leases.erase(mine);
    auto const now = ++values_[c.key()];
    auto const receivers = outside_.publish(c.argument(1), std::to_string(now));
    return had_ended ? reply{} : reply::of(receivers);
}

reply counters::permit_count(script_call const& c)
{
    bool const is_occupied = outside_.occupied.contains(c.key());
    return reply::of(is_occupied ? 0 : value(c.key()) + ended(leases_[c.key(1)]));
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
