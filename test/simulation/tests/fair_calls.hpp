// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/tests/script_bench.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>

namespace colock::simulation {

/// One fair lock, and those who want it. Redisson waits for 300,000 ms.
struct fair_calls : script_bench {
    explicit fair_calls(script_place where, std::string called = "order:42")
        : script_bench{where}
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
        return run(scripts::fair_acquire, keys_of_call(), arguments(field, "30000", life));
    }
    strings arguments(std::string const& field, std::string const& lease, std::int64_t life)
    {
        return {"", field, lease, "1", channel(), wait, text(life)};
    }
    reply release(std::string const& field)
    {
        return run(scripts::fair_release, keys_of_call(), {field, channel(), wait});
    }
    reply keep(std::string const& field)
    {
        return run(scripts::fair_keep, keys_of_call(), {field, wait, "5000"});
    }
    reply force() { return run(scripts::fair_force, keys_of_call(), {channel(), wait, mailboxes}); }

    // ---- Redisson, step by step ----------------------------------------------------------------

    void java_purge()
    {
        for (;;) {
            auto const head = ask("LINDEX", at.queue, "0").text;
            auto const score = head.empty() ? "" : ask("ZSCORE", at.timeouts, head).text;
            if (score.empty() || std::stoll(score) > now_ms())
                return;
            ask("ZREM", at.timeouts, head);
            ask("LPOP", at.queue);
        }
    }
    /// Nothing if it is granted.
    std::optional<std::int64_t> java_acquire(std::string const& who)
    {
        java_purge();
        auto const head = ask("LINDEX", at.queue, "0").text;
        if (!exists(name) && (head.empty() || head == who)) {
            ask("LPOP", at.queue);
            ask("ZREM", at.timeouts, who);
            for (auto const& other : texts("ZRANGE", at.timeouts, "0", "-1"))
                ask("ZINCRBY", at.timeouts, "-" + wait, other);
            ask("HSET", name, who, "1");
            ask("PEXPIRE", name, "30000");
            return {};
        }
        if (!ask("ZSCORE", at.timeouts, who).text.empty())
            return std::max<std::int64_t>(0, pttl(name));
        auto const last = ask("LINDEX", at.queue, "-1").text;
        auto const score = ask("ZSCORE", at.timeouts, last).text;
        auto const ttl = score.empty() ? pttl(name) : std::stoll(score) - now_ms();
        ask("ZADD", at.timeouts, text(ttl + 300'000 + now_ms()), who);
        ask("RPUSH", at.queue, who);
        return ttl;
    }
    void java_release(std::string const&)
    {
        java_purge();
        ask("DEL", name);
        if (auto const head = ask("LINDEX", at.queue, "0").text; !head.empty())
            ask("PUBLISH", channel() + ":" + head, "0");
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
        auto const all = texts("HGETALL", name);
        return all.empty() ? "" : all.at(0);
    }
    /// From now on; 0 if there is none.
    std::int64_t score(std::string const& who, std::string const& key)
    {
        auto const found = ask("ZSCORE", key, who).text;
        return found.empty() ? 0 : std::stoll(found) - now_ms();
    }
    std::int64_t score(std::string const& who) { return score(who, at.timeouts); }

    // ---- What happens --------------------------------------------------------------------------

    void die(std::string const& who) { ask("ZADD", at.tickets, "XX", text(now_ms() - 1), who); }
    void time_out(std::string const& java) { ask("ZADD", at.timeouts, text(now_ms() - 1), java); }
    void listen_as(std::initializer_list<std::string> all)
    {
        for (auto const& who : all)
            listen(decide::fair_channel(name, who));
    }
    std::string told(std::string const& who) const
    {
        return decide::fair_channel(name, who) + "=0";
    }

    std::string const wait = "300000";
    std::string const name;
    decide::fair_keys const at;
};

}  // namespace colock::simulation
