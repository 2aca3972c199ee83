// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "decide/names.hpp"
#include "integration/suites.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace colock::test {

/// The field of an ownership of ours, and of a thread of Redisson's.
inline std::string ours(int number)
{
    return "0b7e4b0c-1111-4907-87fd-6c719a6b4586:" + std::to_string(number);
}
inline std::string java(int thread)
{
    return "8743c9c0-0795-4907-87fd-6c719a6b4586:" + std::to_string(thread);
}

inline std::string text(std::int64_t n) { return std::to_string(n); }

/// Texts as one, so that tests may compare them.
template <class Texts = std::vector<std::string>>
std::string line(Texts const& texts)
{
    std::string all;
    for (auto const& t : texts)
        all.append(all.empty() ? "" : " ").append(t);
    return all;
}

/// Calls scripts as a link does, and looks at what they leave.
class script_calls {
public:
    explicit script_calls(server_kind kind)
        : server{shared_server(kind)}
        , own_{server.unix_socket()}
    {
        server.ask("FLUSHALL");
    }
    ~script_calls() { server.ask("FLUSHALL"); }

    /// The parts of the reply; of an error, that alone.
    std::vector<reply> run(
        scripts::script const& what,
        std::vector<std::string> const& keys,
        std::vector<std::string> const& arguments
    )
    {
        std::vector<std::string> words{
            "EVAL", std::string{what.text}, text(std::int64_t(keys.size()))};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), arguments.begin(), arguments.end());
        auto got = own_.command(words);
        if (got.what == reply::kind::error)
            return {got};
        if (got.what == reply::kind::integer)
            return std::vector(keys.size(), got);  // one number for all keys
        return std::move(got.items);
    }

    std::int64_t pttl(std::string const& key) { return server.ask("PTTL", key).number; }

    /// The server's clock in ms.
    std::int64_t now()
    {
        auto const time = server.ask("TIME").items;
        return std::stoll(time.at(0).text) * 1'000 + std::stoll(time.at(1).text) / 1'000;
    }

    /// The texts of a reply.
    template <class... Words>
    std::vector<std::string> texts(Words const&... words)
    {
        std::vector<std::string> found;
        for (auto const& item : server.ask(words...).items)
            found.push_back(item.text);
        return found;
    }

    /// All keys that there are.
    std::string keys()
    {
        auto found = texts("KEYS", "*");
        std::ranges::sort(found);
        return line(found);
    }

    /// Runs `what` with as little memory as the server allows, and then with all again.
    template <class What>
    void without_memory(What what)
    {
        server.ask("CONFIG", "SET", "maxmemory", "1");
        what();
        server.ask("CONFIG", "SET", "maxmemory", "0");
    }

    /// Runs `what` while the server refuses writes because it has too few replicas.
    template <class What>
    void without_replicas(What what)
    {
        server.ask("CONFIG", "SET", "min-replicas-to-write", "1");
        what();
        server.ask("CONFIG", "SET", "min-replicas-to-write", "0");
    }

    redis_server& server;

private:
    redis_cli own_;
};

/// Hears what is published.
class listener {
public:
    explicit listener(redis_server& server) : server_{server}, cli_{server.unix_socket()}
    {
        cli_("PSUBSCRIBE", "*");
    }

    /// Channel and payload of what came since, in order.
    std::string heard()
    {
        server_.ask("PUBLISH", "end", "");
        std::vector<std::string> all;
        for (;;) {
            auto const message = cli_.read();
            if (message.items.at(2).text == "end")
                return line(all);
            all.push_back(message.items.at(2).text + " " + message.items.at(3).text);
        }
    }

private:
    redis_server& server_;
    redis_cli cli_;
};

inline bool is_granted(reply const& r) { return r.what == reply::kind::integer; }
inline bool is_nil(reply const& r) { return r.what == reply::kind::nil; }

inline bool is_error(reply const& r) { return r.what == reply::kind::error; }

inline bool is_wrong_type(reply const& r)
{
    return r.what == reply::kind::error && r.text.starts_with("WRONGTYPE");
}

/// The number in a refusal; -100 if it is none.
inline std::int64_t refusal(reply const& r)
{
    return r.what == reply::kind::list && !r.items.empty() ? r.items[0].number : -100;
}

/// But for what passes between two commands.
inline bool near(std::int64_t value, std::int64_t expected, std::int64_t slack = 1'000)
{
    return value <= expected + slack && value >= expected - slack;
}

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
        auto const list = decide::wait_list(name);
        return run(scripts::write_release, {name}, {who + ":write", channel, list, "", prefix})
            .at(0);
    }
    reply force(std::string const& side)
    {
        return run(scripts::read_write_force, {name}, {side, channel, prefix}).at(0);
    }

    // ---- Redisson, step by step ----------------------------------------------------------------

    // In its scripts no time passes. Here some does between two steps, hence moments in place of
    // what is left.
    // Redis before 7.0 has no PEXPIRETIME.
    std::int64_t end(std::string const& key)
    {
        std::string const script =
            "local now, left = redis.call('time'), redis.call('pttl', KEYS[1]) "
            "return left < 0 and left or now[1] * 1000 + math.floor(now[2] / 1000) + left";
        return server.ask("EVAL", script, "1", key).number;
    }
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
