// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/commands/command.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace colock::simulation {

namespace {

using command_table = std::unordered_map<std::string_view, command const*>;

command_table make_table()
{
    command_table all;
    for (auto const part :
         {key_commands(),
          string_commands(),
          hash_commands(),
          list_commands(),
          sorted_set_commands()})
        for (auto const& one : part)
            all.emplace(one.name, &one);
    return all;
}

constexpr char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

command const* find_command(std::string_view name)
{
    static command_table const all = make_table();
    std::array<char, 32> small{};
    if (name.size() > small.size())
        return nullptr;
    std::ranges::transform(name, small.begin(), lower);
    auto const found = all.find({small.data(), name.size()});
    return found == all.end() ? nullptr : found->second;
}

namespace {

constexpr std::array<std::string_view, 9> taking_memory{
    "decr", "decrby", "hset", "incr", "incrby", "rpush", "set", "zadd", "zincrby"};
constexpr std::array<std::string_view, 6> other_writes{
    "del", "hdel", "lpop", "lrem", "pexpire", "zrem"};

}  // namespace

bool is_refused_for_memory(command const& what, workspace const& on) noexcept
{
    return on.is_full && !on.has_written &&
        std::ranges::find(taking_memory, what.name) != taking_memory.end();
}

bool writes(command const& what) noexcept
{
    return std::ranges::find(taking_memory, what.name) != taking_memory.end() ||
        std::ranges::find(other_writes, what.name) != other_writes.end();
}

outcome carry_out(command const& what, workspace& on, words given)
{
    try {
        return what.run(on, given);
    } catch (refusal const& why) {
        return outcome{reply::error(why.what())};
    }
}

bool is_option(std::string_view word, std::string_view option) noexcept
{
    return std::ranges::equal(word, option, {}, lower, lower);
}

}  // namespace colock::simulation
