// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"

#include <array>
#include <limits>

namespace colock::simulation {

namespace {

outcome del(workspace& on, words given)
{
    std::int64_t removed = 0;
    for (auto const key : given.subspan(1))
        if (on.find(key))
            removed += on.keys.remove(key);
    return removed;
}

outcome exists(workspace& on, words given)
{
    std::int64_t found = 0;
    for (auto const key : given.subspan(1))
        found += on.find(key) != nullptr;
    return found;
}

outcome type(workspace& on, words given)
{
    constexpr std::array names{"string", "hash", "list", "zset"};
    auto const* const found = on.find(given[1]);
    return outcome::status(found ? names.at(found->content.index()) : "none");
}

// ---- Expiry ------------------------------------------------------------------------------------

outcome pttl(workspace& on, words given)
{
    auto const* const found = on.find(given[1]);
    if (!found)
        return -2;
    return found->expires_at ? *found->expires_at - on.now_ms() : -1;
}

outcome pexpiretime(workspace& on, words given)
{
    auto const* const found = on.find(given[1]);
    return found ? found->expires_at.value_or(-1) : -2;
}

// A moment that is over takes the key away at once.
outcome expire_at(workspace& on, std::string_view key, std::int64_t moment)
{
    auto* const found = on.find(key);
    if (!found)
        return 0;
    if (moment > on.now_ms())
        found->expires_at = moment;
    else
        on.keys.remove(key);
    return 1;
}

void refuse_options(words given)
{
    if (given.size() > 3)
        throw refusal{"ERR the simulated server knows no options of " + std::string{given[0]}};
}

outcome pexpire(workspace& on, words given)
{
    refuse_options(given);
    auto const time = integer(given[2]);
    if (time > std::numeric_limits<std::int64_t>::max() - on.now_ms())
        throw refusal{"ERR invalid expire time in 'pexpire' command"};
    return expire_at(on, given[1], on.now_ms() + time);
}

outcome pexpireat(workspace& on, words given)
{
    refuse_options(given);
    return expire_at(on, given[1], integer(given[2]));
}

outcome persist(workspace& on, words given)
{
    auto* const found = on.find(given[1]);
    bool const had = found && found->expires_at;
    if (had)
        found->expires_at.reset();
    return had;
}

// ---- The server --------------------------------------------------------------------------------

outcome time(workspace& on, words)
{
    return reply::of(std::vector{
        reply::of(std::to_string(on.now / 1'000'000)),
        reply::of(std::to_string(on.now % 1'000'000))});
}

outcome info(workspace& on, words given)
{
    if (given.size() != 2 || !is_option(given[1], "server"))
        throw refusal{"ERR the simulated server has no section of INFO but server"};
    auto const up = (on.now - on.started) / 1'000'000;
    return reply::of("# Server\r\nuptime_in_seconds:" + std::to_string(up) + "\r\n");
}

outcome hand_out(workspace& on, audience to, words given)
{
    return on.publish ? on.publish(to, given[1], given[2]) : 0;
}

outcome publish(workspace& on, words given) { return hand_out(on, audience::channel, given); }
outcome spublish(workspace& on, words given)
{
    return hand_out(on, audience::shard_channel, given);
}

outcome pubsub(workspace& on, words given)
{
    bool const is_sharded = is_option(given[1], "SHARDNUMSUB");
    if (!is_sharded && !is_option(given[1], "NUMSUB"))
        throw refusal{"ERR the simulated server has no PUBSUB but NUMSUB and SHARDNUMSUB"};
    std::vector<reply> all;
    for (auto const channel : given.subspan(2)) {
        all.push_back(reply::of(channel));
        auto const to = is_sharded ? audience::shard_channel : audience::channel;
        all.push_back(reply::of(on.subscribers ? on.subscribers(to, channel) : 0));
    }
    return reply::of(std::move(all));
}

outcome ping(workspace&, words given)
{
    if (given.size() > 2)
        throw refusal{"ERR wrong number of arguments for 'ping' command"};
    return given.size() == 2 ? outcome{reply::of(given[1])} : outcome::status("PONG");
}

outcome flushall(workspace& on, words)
{
    on.keys.clear();
    return outcome::status("OK");
}

outcome keys(workspace& on, words given)
{
    if (given[1] != "*")
        throw refusal{"ERR the simulated server knows no pattern of KEYS but *"};
    on.keys.expire(on.now_ms());
    std::vector<reply> all;
    for (auto const& key : on.keys.keys())
        all.push_back(reply::of(key));
    return reply::of(std::move(all));
}

constexpr std::array all{
    command{"del", -2, &del},
    command{"exists", -2, &exists},
    command{"type", 2, &type},
    command{"pttl", 2, &pttl},
    command{"pexpire", -3, &pexpire},
    command{"pexpireat", -3, &pexpireat},
    command{"pexpiretime", 2, &pexpiretime},
    command{"persist", 2, &persist},
    command{"time", 1, &time},
    command{"info", -1, &info},
    command{"publish", 3, &publish},
    command{"spublish", 3, &spublish},
    command{"pubsub", -2, &pubsub},
    command{"ping", -1, &ping},
    command{"flushall", -1, &flushall},
    command{"keys", 2, &keys}};

}  // namespace

std::span<command const> key_commands() noexcept { return all; }

}  // namespace colock::simulation
