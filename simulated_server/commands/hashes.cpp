// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <limits>

namespace colock::simulation {

namespace {

using field = hash::value_type;

auto find_field(hash& in, std::string_view name)
{
    return std::ranges::find(in, name, &field::first);
}

outcome hset(workspace& on, words given)
{
    if (given.size() % 2 != 0)
        throw refusal{"ERR wrong number of arguments for 'hset' command"};
    auto& into = on.write<hash>(given[1]);
    std::int64_t added = 0;
    for (std::size_t i = 2; i != given.size(); i += 2) {
        auto const at = find_field(into, given[i]);
        if (at != into.end()) {
            at->second = given[i + 1];
        } else {
            into.emplace_back(given[i], given[i + 1]);
            ++added;
        }
    }
    return added;
}

outcome hget(workspace& on, words given)
{
    auto* const in = on.read<hash>(given[1]);
    if (!in)
        return {};
    auto const at = find_field(*in, given[2]);
    return at != in->end() ? outcome{reply::of(at->second)} : outcome{};
}

outcome hexists(workspace& on, words given)
{
    auto* const in = on.read<hash>(given[1]);
    return in && find_field(*in, given[2]) != in->end();
}

outcome hlen(workspace& on, words given)
{
    auto const* const in = on.read<hash>(given[1]);
    return in ? static_cast<std::int64_t>(in->size()) : 0;
}

outcome hdel(workspace& on, words given)
{
    auto* const in = on.read<hash>(given[1]);
    if (!in)
        return 0;
    std::int64_t removed = 0;
    for (auto const name : given.subspan(2))
        if (auto const at = find_field(*in, name); at != in->end()) {
            in->erase(at);
            ++removed;
        }
    on.drop_if_empty(given[1], *in);
    return removed;
}

outcome hgetall(workspace& on, words given)
{
    std::vector<reply> all;
    if (auto const* const in = on.read<hash>(given[1])) {
        all.reserve(2 * in->size());
        for (auto const& [name, content] : *in) {
            all.push_back(reply::of(name));
            all.push_back(reply::of(content));
        }
    }
    return reply::of(std::move(all));
}

outcome hkeys(workspace& on, words given)
{
    std::vector<reply> all;
    if (auto const* const in = on.read<hash>(given[1]))
        for (auto const& [name, content] : *in)
            all.push_back(reply::of(name));
    return reply::of(std::move(all));
}

// One page holds all fields, as it does of a small hash of Redis.
outcome hscan(workspace& on, words given)
{
    if (given[2].empty() ||
        !std::ranges::all_of(given[2], [](unsigned char c) { return std::isdigit(c); }))
        throw refusal{"ERR invalid cursor"};
    if (!on.read<hash>(given[1]))  // before Redis looks at the options
        return reply::of(std::vector<reply>{reply::of("0"), reply::of(std::vector<reply>{})});
    if (given.size() > 3 && !is_option(given[3], "COUNT"))
        throw refusal{"ERR the simulated server knows no option of HSCAN but COUNT"};
    if (given.size() > 3 && (given.size() != 5 || integer(given[4]) < 1))
        throw refusal{"ERR syntax error"};
    return reply::of(std::vector<reply>{reply::of("0"), hgetall(on, given.first(2))});
}

constexpr std::array of_hashes{
    command{"hset", -4, &hset},
    command{"hget", 3, &hget},
    command{"hexists", 3, &hexists},
    command{"hlen", 2, &hlen},
    command{"hdel", -3, &hdel},
    command{"hgetall", 2, &hgetall},
    command{"hkeys", 2, &hkeys},
    command{"hscan", -3, &hscan}};

}  // namespace

std::span<command const> hash_commands() noexcept { return of_hashes; }

namespace {

outcome rpush(workspace& on, words given)
{
    auto& into = on.write<list>(given[1]);
    for (auto const element : given.subspan(2))
        into.emplace_back(element);
    return static_cast<std::int64_t>(into.size());
}

outcome lpush(workspace& on, words given)
{
    auto& into = on.write<list>(given[1]);
    for (auto const element : given.subspan(2))
        into.emplace(into.begin(), element);
    return static_cast<std::int64_t>(into.size());
}

outcome lpop(workspace& on, words given)
{
    if (given.size() > 2)
        throw refusal{"ERR the simulated server knows no count of LPOP"};
    auto* const in = on.read<list>(given[1]);
    if (!in)
        return {};
    outcome first{reply::of(in->front())};
    in->erase(in->begin());
    on.drop_if_empty(given[1], *in);
    return first;
}

outcome lindex(workspace& on, words given)
{
    auto const* const in = on.read<list>(given[1]);
    if (!in)
        return {};
    auto const i = integer(given[2]);
    auto const [at, end] = range(i, i, in->size());
    return at != end ? outcome{reply::of((*in)[at])} : outcome{};
}

outcome llen(workspace& on, words given)
{
    auto const* const in = on.read<list>(given[1]);
    return in ? static_cast<std::int64_t>(in->size()) : 0;
}

outcome lrange(workspace& on, words given)
{
    auto const start = integer(given[2]), stop = integer(given[3]);
    std::vector<reply> found;
    if (auto const* const in = on.read<list>(given[1])) {
        auto const [first, end] = range(start, stop, in->size());
        for (auto i = first; i != end; ++i)
            found.push_back(reply::of((*in)[i]));
    }
    return reply::of(std::move(found));
}

// A count below zero removes from the end, and zero all.
outcome lrem(workspace& on, words given)
{
    auto const count = signed_count(given[2]);
    auto* const in = on.read<list>(given[1]);
    if (!in)
        return 0;
    auto left = count == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(count);
    auto const before = in->size();
    auto const is_due = [&](std::string const& element) {
        return element == given[3] && left-- > 0;
    };
    if (count < 0)
        std::ranges::reverse(*in);
    std::erase_if(*in, is_due);
    if (count < 0)
        std::ranges::reverse(*in);
    auto const removed = before - in->size();
    on.drop_if_empty(given[1], *in);
    return static_cast<std::int64_t>(removed);
}

// Of the options RANK alone: which match, counted from the end if it is negative.
outcome lpos(workspace& on, words given)
{
    std::int64_t rank = 1;
    if (given.size() > 3) {
        if (given.size() != 5 || !is_option(given[3], "RANK"))
            throw refusal{"ERR syntax error"};
        rank = signed_count(given[4]);
        if (rank == 0)
            throw refusal{
                "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second "
                "... or use negative to start from the end of the list"};
    }
    auto const* const in = on.read<list>(given[1]);
    if (!in)
        return {};
    auto const size = static_cast<std::int64_t>(in->size());
    auto const step = rank < 0 ? -1 : 1;
    for (auto i = rank < 0 ? size - 1 : 0; i >= 0 && i < size; i += step)
        if ((*in)[static_cast<std::size_t>(i)] == given[2] && (rank -= step) == 0)
            return i;
    return {};
}

constexpr std::array of_lists{
    command{"rpush", -3, &rpush},
    command{"lpush", -3, &lpush},
    command{"lpop", -2, &lpop},
    command{"lindex", 3, &lindex},
    command{"llen", 2, &llen},
    command{"lrange", 4, &lrange},
    command{"lrem", 4, &lrem},
    command{"lpos", -3, &lpos}};

}  // namespace

std::span<command const> list_commands() noexcept { return of_lists; }

}  // namespace colock::simulation
