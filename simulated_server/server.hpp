// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace colock::simulation {

/// Fields in the order in which they came, as in a small hash of Redis. A large hash has no order
/// there that a script could rely on; here it keeps this one.
using hash = std::vector<std::pair<std::string, std::string>>;

using list = std::vector<std::string>;

struct scored {
    double score = 0;
    std::string member{};

    bool operator==(scored const&) const = default;
};

/// By score, then by the bytes of the member.
using sorted_set = std::vector<scored>;

/// What a key holds. No collection is empty: the key goes with its last element.
using value = std::variant<std::string, hash, list, sorted_set>;

/// All keys of a server and the moments at which they expire. A copy is a replica.
class keyspace {
public:
    struct entry {
        value content{};
        std::optional<std::int64_t> expires_at{};  ///< ms since the epoch

        bool operator==(entry const&) const = default;
    };

    /// The key as it stands at `now`, in ms since the epoch. A key that has expired goes away.
    entry* find(std::string_view key, std::int64_t now);

    /// The same for who only looks, also if it has expired.
    entry const* look_up(std::string_view key) const
    {
        auto const at = entries_.find(key);
        return at == entries_.end() ? nullptr : &at->second;
    }

    /// Takes the place of what was there, without an expiry.
    entry& put(std::string_view key, value);

    bool remove(std::string_view key);
    void clear() noexcept { entries_.clear(); }

    /// Removes the keys that have expired.
    void expire(std::int64_t now);

    std::size_t size() const noexcept { return entries_.size(); }

    /// All keys, in order. One that has expired may still be among them; see `expire`.
    std::vector<std::string> keys() const;

    bool operator==(keyspace const&) const = default;

private:
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const noexcept
        {
            return std::hash<std::string_view>{}(s);
        }
    };

    std::unordered_map<std::string, entry, hasher, std::equal_to<>> entries_;
};

/// Which subscribers a message goes to: of SUBSCRIBE, or of SSUBSCRIBE.
enum class audience { channel, shard_channel };

/// Hands a message out and says how many subscribers get it.
using publisher =
    std::function<std::int64_t(audience, std::string_view channel, std::string_view payload)>;

/// Says how many subscribers a channel has.
using subscriber_count = std::function<std::int64_t(audience, std::string_view channel)>;

/// A Redis server without a network: it runs scripts with Lua 5.1, as Redis does, on keys in
/// memory. The clock stands still inside a script. A script that fails half-way takes nothing back.
///
/// It has the commands that colock's scripts and tests use. What it lacks answers with an error.
class server {
public:
    /// `now` is the server's wall clock in microseconds since the epoch.
    explicit server(std::function<std::int64_t()> now);
    server(server const&) = delete;
    server& operator=(server const&) = delete;
    ~server();

    /// EVAL. An error is a reply of that kind, in Redis's words.
    decide::reply run(
        std::string_view text,
        std::span<std::string_view const> keys,
        std::span<std::string_view const> arguments
    );

    /// The same for a script of the client: with the number of the call, which its reply begins
    /// with and this does not.
    decide::reply call(
        std::string_view text,
        std::span<std::string_view const> keys,
        std::span<std::string_view const> arguments
    );

    /// A command by itself: PING, GET, PTTL, FLUSHALL and the like.
    decide::reply command(std::span<std::string_view const> words);

    /// Without them there are no subscribers. They must not throw.
    publisher publish;
    subscriber_count subscribers;

    /// When it has started, in microseconds since the epoch: what INFO says of its uptime.
    std::int64_t started = 0;

    /// As with maxmemory reached and noeviction: scripts are refused what needs memory.
    bool is_full = false;

    /// All keys that have not expired. A copy is what a replica has.
    keyspace const& data();
    void restore(keyspace);

    /// The same for who only looks: keys that have expired may still be among them.
    keyspace const& stored() const noexcept;

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace colock::simulation
