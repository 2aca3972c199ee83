#include "counters.hpp"

#include <algorithm>

namespace colock::testing {

std::int64_t counters::value(std::string const& key) const
{
    auto const at = values_.find(key);
    return at == values_.end() ? 0 : at->second;
}

reply counters::change(std::string const& key, std::int64_t by, std::string const& channel)
{
    auto const now = values_[key] += by;
    outside_.publish(channel, std::to_string(now));
    return reply::of(now);
}

reply counters::set(script_call const& c, std::string const& payload)
{
    if (!values_.try_emplace(c.key(), c.number(0)).second)
        return reply::of(std::int64_t{0});
    outside_.publish(c.argument(3), payload);
    return reply::of(std::int64_t{1});
}

// ---- Semaphores --------------------------------------------------------------------------------

reply counters::semaphore_acquire(script_call const& c)
{
    if (outside_.blocks(c.key()))
        return reply::of(std::vector{reply::of(std::int64_t{0})});
    if (value(c.key()) < c.number(0))
        return reply::of(std::vector{reply::of(value(c.key()))});
    values_[c.key()] -= c.number(0);
    takings_[c.key(1)] = c.number(1);
    return reply::of(std::int64_t{1});
}

reply counters::semaphore_undo(script_call const& c)
{
    bool const had = std::exchange(takings_[c.key(1)], c.number(1)) == c.number(0);
    if (had)
        change(c.key(), c.number(2), c.argument(4));
    return reply::of(std::int64_t{had});
}

reply counters::semaphore_release(script_call const& c)
{
    return change(c.key(), c.number(0), c.argument(3));
}

reply counters::semaphore_set(script_call const& c)
{
    semaphores_.insert(c.key());
    return set(c, c.argument(0));
}

reply counters::semaphore_drain(script_call const& c)
{
    auto const all = outside_.blocks(c.key()) ? 0 : value(c.key());
    if (all > 0)
        values_[c.key()] = 0;
    return reply::of(all);
}

// ---- Latches -----------------------------------------------------------------------------------

reply counters::latch_set(script_call const& c) { return set(c, "1"); }

reply counters::latch_count_down(script_call const& c)
{
    auto const before = value(c.key());
    auto const left = std::max<std::int64_t>(before - c.number(0), 0);
    values_.erase(c.key());
    if (left > 0)
        values_[c.key()] = left;
    else if (before > 0)
        outside_.publish(c.argument(3), "0");
    return reply::of(left);
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

void counters::end_leases(std::string const& key, std::string const& leases_key)
{
    semaphore_of_[leases_key] = key;
    values_[key] += static_cast<std::int64_t>(std::erase_if(leases_[leases_key], [](auto const& p) {
        return p.second <= clock::now();
    }));
}

reply counters::permit_acquire(script_call const& c)
{
    end_leases(c.key(), c.key(1));
    auto& leases = leases_[c.key(1)];
    auto const ends = clock::now() + milliseconds{c.number(1)};
    if (auto const mine = leases.find(c.argument(0)); mine != leases.end()) {
        mine->second = ends;
        return reply::of(std::int64_t{1});
    }
    if (outside_.blocks(c.key()))
        return reply::of(std::vector{reply::of(outside::lease)});
    if (value(c.key()) >= 1) {
        --values_[c.key()];
        leases[c.argument(0)] = ends;
        return reply::of(std::int64_t{1});
    }
    auto const first = std::ranges::min_element(leases, {}, [](auto const& p) { return p.second; });
    auto const left = first == leases.end() ? -1 : until(first->second).count();
    return reply::of(std::vector{reply::of(static_cast<std::int64_t>(left))});
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
    end_leases(c.key(), c.key(1));
    if (leases_[c.key(1)].erase(c.argument(0)) == 0)
        return {};
    auto const now = ++values_[c.key()];
    return reply::of(outside_.publish(c.argument(1), std::to_string(now)));
}

reply counters::permit_count(script_call const& c)
{
    end_leases(c.key(), c.key(1));
    return reply::of(outside_.occupied.contains(c.key()) ? 0 : value(c.key()));
}

std::vector<std::string> counters::held()
{
    std::vector<std::string> names;
    for (auto const& [leases_key, key] : semaphore_of_) {
        end_leases(key, leases_key);
        if (!leases_[leases_key].empty())
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
