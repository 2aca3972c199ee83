// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/script_calls.hpp"

namespace colock::test {

/// One read-write lock, and those who want it.
struct read_write_calls : script_calls {
    explicit read_write_calls(server_kind kind, std::string called = "order:42")
        : script_calls{kind}
        , name{std::move(called)}
        , channel{decide::read_write_channel(name)}
        , prefix{decide::lease_prefix(name)}
    {}

    reply read(std::string const& who, std::string const& lease = "30000")
    {
        return run(scripts::read_acquire, {name}, {who, lease, prefix}).at(0);
    }
    reply read_extend(std::string const& who, std::string const& depth, std::string const& lease)
    {
        return run(scripts::read_extend, {name}, {who, depth, lease, prefix}).at(0);
    }
    reply read_renew(std::string const& who, std::string const& lease)
    {
        return run(scripts::read_renew, {name}, {who, lease, prefix}).at(0);
    }
    reply unread(std::string const& who)
    {
        return run(scripts::read_release, {name}, {who, channel, prefix}).at(0);
    }
    reply write(std::string const& who, std::string const& lease = "30000")
    {
        return run(scripts::write_acquire, {name}, {"", who + ":write", lease, "1", ""}).at(0);
    }
    reply unwrite(std::string const& who)
    {
        return run(scripts::write_release, {name}, {who + ":write", channel, prefix}).at(0);
    }
    reply force(std::string const& side)
    {
        return run(scripts::read_write_force, {name}, {side, channel, prefix}).at(0);
    }

    // ---- Redisson, step by step ----------------------------------------------------------------

    // In its scripts no time passes. Here some does between two steps, hence moments in place of
    // what is left.
    std::int64_t end(std::string const& key) { return server.ask("PEXPIRETIME", key).number; }
    void expire_at(std::int64_t moment) { server.ask("PEXPIREAT", name, text(moment)); }

    std::optional<std::int64_t> java_read(std::string const& who, std::int64_t lease)
    {
        auto const mode = server.ask("HGET", name, "mode").text;
        if (!mode.empty() && mode != "read" &&
            server.ask("HEXISTS", name, who + ":write").number == 0)
            return pttl(name);
        if (mode.empty())
            server.ask("HSET", name, "mode", "read");
        auto const n = server.ask("HINCRBY", name, who, "1").number;
        server.ask("SET", lease_key(who, n), "1", "PX", text(lease));
        expire_at(std::max(end(name), end(lease_key(who, n))));
        return {};
    }
    /// As Redisson's script answers it.
    std::int64_t java_unread(std::string const& who)
    {
        auto const count = server.ask("HINCRBY", name, who, "-1").number;
        if (count == 0)
            server.ask("HDEL", name, who);
        server.ask("DEL", lease_key(who, count + 1));
        if (server.ask("HLEN", name).number > 1) {
            std::int64_t last = -3;
            auto const all = texts("HGETALL", name);
            for (std::size_t f = 0; f != all.size(); f += 2)
                if (all[f] != "mode")
                    for (auto n = std::stoll(all[f + 1]); n != 0; --n)
                        last = std::max(last, end(lease_key(all[f], n)));
            if (last > 0) {
                expire_at(last);
                return 0;
            }
            if (server.ask("HGET", name, "mode").text == "write")
                return 0;
        }
        server.ask("DEL", name);
        server.ask("PUBLISH", channel, "0");
        return 1;
    }

    // ---- What is there -------------------------------------------------------------------------

    std::string lease_key(std::string const& who, std::int64_t n) const
    {
        return (name.find('{') == name.npos ? "{" + name + "}" : name) + ":" + who +
            ":rwlock_timeout:" + text(n);
    }
    /// Fields and values, the mode first, the others in their order.
    std::string hash()
    {
        auto const all = texts("HGETALL", name);
        std::vector<std::string> found;
        for (std::size_t i = 0; i != all.size(); i += 2)
            found.push_back((all[i] == "mode" ? " " : "") + all[i] + "=" + all[i + 1]);
        std::ranges::sort(found);
        return line(found);
    }

    std::string const name;
    std::string const channel;
    std::string const prefix;
};

}  // namespace colock::test
