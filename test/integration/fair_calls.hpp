// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/script_calls.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

using strings = std::vector<std::string>;

/// One fair lock, and those who want it. Redisson waits for 300,000 ms, and its clock is the
/// server's.
struct fair_lock_calls : script_calls {
    explicit fair_lock_calls(server_kind kind, std::string called = "order:42")
        : script_calls{kind}
        , name{std::move(called)}
        , at{name}
    {}

    strings keys_of_call() const { return keys_of_call(name); }
    static strings keys_of_call(std::string const& of)
    {
        decide::fair_keys const at{of};
        return {of, at.queue, at.timeouts, at.tickets};
    }
    std::string channel() const { return decide::lock_channel(name); }

    reply acquire(std::string const& field, std::int64_t life = 5'000)
    {
        return run(scripts::fair_acquire,
                   keys_of_call(),
                   {"", field, "30000", "1", channel(), wait, text(life)})
            .at(0);
    }
    reply release(std::string const& field)
    {
        return run(scripts::fair_release, keys_of_call(), {field, channel(), wait}).at(0);
    }
    reply keep(std::string const& field, std::int64_t life = 5'000)
    {
        return run(scripts::fair_keep, keys_of_call(), {field, wait, text(life)}).at(0);
    }
    reply force() { return run(scripts::fair_force, keys_of_call(), {channel(), wait}).at(0); }

    // ---- Redisson, step by step ----------------------------------------------------------------

    void java_purge()
    {
        for (;;) {
            auto const head = server.ask("LINDEX", at.queue, "0");
            if (head.text.empty())
                return;
            auto const score = server.ask("ZSCORE", at.timeouts, head.text).text;
            if (score.empty() || std::stoll(score) > now())
                return;
            server.ask("ZREM", at.timeouts, head.text);
            server.ask("LPOP", at.queue);
        }
    }
    /// Nothing if it is granted.
    std::optional<std::int64_t> java_acquire(std::string const& who)
    {
        java_purge();
        auto const head = server.ask("LINDEX", at.queue, "0").text;
        if (!exists(server, name) && (head.empty() || head == who)) {
            server.ask("LPOP", at.queue);
            server.ask("ZREM", at.timeouts, who);
            for (auto const& other : texts("ZRANGE", at.timeouts, "0", "-1"))
                server.ask("ZINCRBY", at.timeouts, "-" + wait, other);
            server.ask("HSET", name, who, "1");
            server.ask("PEXPIRE", name, "30000");
            return {};
        }
        if (!server.ask("ZSCORE", at.timeouts, who).text.empty())
            return std::max<std::int64_t>(0, pttl(name));
        auto const last = server.ask("LINDEX", at.queue, "-1").text;
        auto const score = server.ask("ZSCORE", at.timeouts, last).text;
        auto const ttl = score.empty() ? pttl(name) : std::stoll(score) - now();
        server.ask("ZADD", at.timeouts, text(ttl + 300'000 + now()), who);
        server.ask("RPUSH", at.queue, who);
        return ttl;
    }
    void java_release(std::string const& who)
    {
        java_purge();
        if (server.ask("HINCRBY", name, who, "-1").number > 0)
            return;
        server.ask("DEL", name);
        if (auto const head = server.ask("LINDEX", at.queue, "0").text; !head.empty())
            server.ask("PUBLISH", channel() + ":" + head, "0");
    }

    // ---- What is there -------------------------------------------------------------------------

    std::string queue() { return line(texts("LRANGE", at.queue, "0", "-1")); }
    std::string tickets() { return line(texts("ZRANGE", at.tickets, "0", "-1")); }
    std::set<std::string> members(std::string const& key)
    {
        auto const found = texts("ZRANGE", key, "0", "-1");
        return {found.begin(), found.end()};
    }
    std::string holder()
    {
        auto const fields = texts("HKEYS", name);
        return fields.empty() ? "" : fields.at(0);
    }
    /// From now on; 0 if there is none.
    std::int64_t score(std::string const& who)
    {
        auto const found = server.ask("ZSCORE", at.timeouts, who).text;
        return found.empty() ? 0 : std::stoll(found) - now();
    }
    void die(std::string const& who) { server.ask("ZADD", at.tickets, "XX", text(now() - 1), who); }

    std::string const wait = "300000";
    std::string const name;
    decide::fair_keys const at;
};

}  // namespace colock::test
