// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

}  // namespace colock::simulation
