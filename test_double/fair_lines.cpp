#include "fair_lines.hpp"

#include <algorithm>

namespace colock::testing {

// When it is worth asking again: the lease, or at once.
reply fair_lines::ask_in(std::string const& key)
{
    auto const pttl = locks_.pttl(key);
    return reply::of(std::vector{reply::of(pttl == -2 ? std::int64_t{0} : pttl)});
}

reply fair_lines::acquire(script_call const& c)
{
    auto const key = c.key(), field = c.argument(0);
    auto& line = lines_[key];
    bool const is_first = line.empty() || line.front() == field;
    bool const is_free = !outside_.blocks(key) && !locks_.is_held(key);
    if (locks_.has(key, field) || (is_first && is_free)) {
        std::erase(line, field);
        return locks_.grant(c, c.keys.size() == 5);
    }
    bool const queues = c.number(5) > 0;
    if (queues && std::ranges::find(line, field) == line.end())
        line.push_back(field);
    return ask_in(key);
}

reply fair_lines::keep(script_call const& c)
{
    auto const& line = lines_[c.key()];
    if (std::ranges::find(line, c.argument(0)) == line.end())
        return reply::of(std::int64_t{0});
    return ask_in(c.key());
}

std::int64_t fair_lines::tell_first(std::string const& key, std::string const& channel)
{
    auto const& line = lines_[key];
    return line.empty() ? 0 : outside_.publish(channel + ':' + line.front(), "0");
}

reply fair_lines::release(script_call const& c)
{
    auto const key = c.key();
    bool const had = locks_.remove(key, c.argument(0));
    if (!had)
        std::erase(lines_[key], c.argument(0));
    if (outside_.occupied.contains(key) || locks_.is_held(key))
        return {};
    auto told = tell_first(key, c.argument(1));
    if (told == 0 && !lines_[key].empty())
        told = decide::release_answer::unheard;
    if (!had && told == decide::release_answer::unheard)
        return reply::of(decide::release_answer::gone_unheard);
    return had ? reply::of(told) : reply{};
}

reply fair_lines::force(script_call const& c)
{
    auto const key = c.key();
    bool const was_held = outside_.occupied.erase(key) != 0 || locks_.is_held(key);
    if (was_held) {
        locks_.remove(key);
        tell_first(key, c.argument(0));
    }
    return reply::of(std::int64_t{was_held});
}

}  // namespace colock::testing
