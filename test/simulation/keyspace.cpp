// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/keyspace.hpp"

#include <algorithm>

namespace colock::simulation {

namespace {

// A key lives through its last millisecond, as in Redis.
bool has_expired(keyspace::entry const& e, std::int64_t now)
{
    return e.expires_at && *e.expires_at < now;
}

}  // namespace

keyspace::entry* keyspace::find(std::string_view key, std::int64_t now)
{
    auto const at = entries_.find(key);
    if (at == entries_.end())
        return nullptr;
    if (!has_expired(at->second, now))
        return &at->second;
    entries_.erase(at);
    return nullptr;
}

keyspace::entry& keyspace::put(std::string_view key, value content)
{
    auto at = entries_.find(key);
    if (at == entries_.end())
        at = entries_.try_emplace(std::string{key}).first;
    at->second = {std::move(content), {}};
    return at->second;
}

bool keyspace::remove(std::string_view key)
{
    auto const at = entries_.find(key);
    if (at == entries_.end())
        return false;
    entries_.erase(at);
    return true;
}

void keyspace::expire(std::int64_t now)
{
    std::erase_if(entries_, [now](auto const& e) { return has_expired(e.second, now); });
}

std::vector<std::string> keyspace::keys() const
{
    std::vector<std::string> all;
    all.reserve(entries_.size());
    for (auto const& [key, content] : entries_)
        all.push_back(key);
    std::ranges::sort(all);
    return all;
}

}  // namespace colock::simulation
