// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/commands/command.hpp"

#include <algorithm>
#include <array>
#include <cctype>

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

// One page holds all fields, as it does of a small hash of Redis.
outcome hscan(workspace& on, words given)
{
    if (given[2].empty() ||
        !std::ranges::all_of(given[2], [](unsigned char c) { return std::isdigit(c); }))
        throw refusal{"ERR invalid cursor"};
    if (given.size() > 3)
        throw refusal{"ERR the simulated server knows no options of HSCAN"};
    return reply::of(std::vector<reply>{reply::of("0"), hgetall(on, given.first(2))});
}

constexpr std::array all{
    command{"hset", -4, &hset},
    command{"hget", 3, &hget},
    command{"hexists", 3, &hexists},
    command{"hlen", 2, &hlen},
    command{"hdel", -3, &hdel},
    command{"hgetall", 2, &hgetall},
    command{"hscan", -3, &hscan}};

}  // namespace

std::span<command const> hash_commands() noexcept { return all; }

}  // namespace colock::simulation
