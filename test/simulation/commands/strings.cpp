// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/commands/command.hpp"
#include "simulation/commands/numbers.hpp"

#include <array>
#include <limits>

namespace colock::simulation {

namespace {

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

outcome get(workspace& on, words given)
{
    auto const* const found = on.read<std::string>(given[1]);
    return found ? outcome{reply::of(*found)} : outcome{};
}

// Of the options PX alone.
outcome set(workspace& on, words given)
{
    std::optional<std::int64_t> expires_at;
    if (given.size() > 3) {
        if (given.size() != 5 || !is_option(given[3], "PX"))
            throw refusal{"ERR syntax error"};
        auto const lease = integer(given[4]);
        if (lease <= 0 || lease > greatest - on.now_ms())
            throw refusal{"ERR invalid expire time in 'set' command"};
        expires_at = on.now_ms() + lease;
    }
    on.keys.put(given[1], std::string{given[2]}).expires_at = expires_at;
    return outcome::status("OK");
}

outcome add(workspace& on, std::string_view key, std::int64_t by)
{
    auto* const found = on.read<std::string>(key);
    auto const before = found ? integer(*found) : 0;
    if (by < 0 ? before < least - by : before > greatest - by)
        throw refusal{"ERR increment or decrement would overflow"};
    auto const now = before + by;
    on.write<std::string>(key) = std::to_string(now);
    return now;
}

outcome incr(workspace& on, words given) { return add(on, given[1], 1); }
outcome decr(workspace& on, words given) { return add(on, given[1], -1); }
outcome incrby(workspace& on, words given) { return add(on, given[1], integer(given[2])); }

outcome decrby(workspace& on, words given)
{
    auto const by = integer(given[2]);
    if (by == least)
        throw refusal{"ERR decrement would overflow"};
    return add(on, given[1], -by);
}

constexpr std::array all{
    command{"get", 2, &get},
    command{"set", -3, &set},
    command{"incr", 2, &incr},
    command{"incrby", 3, &incrby},
    command{"decr", 2, &decr},
    command{"decrby", 3, &decrby}};

}  // namespace

std::span<command const> string_commands() noexcept { return all; }

}  // namespace colock::simulation
