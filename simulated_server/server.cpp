// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"
#include "simulated_server/lua/engine.hpp"
#include "simulated_server/server.hpp"

#include <algorithm>
#include <string>
#include <utility>

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

class server::state {
public:
    explicit state(std::function<std::int64_t()> now) : now_{std::move(now)} {}

    keyspace& keys() noexcept { return keys_; }
    workspace open(server const& of)
    {
        return {keys_, of.publish, of.subscribers, now_(), of.started};
    }

    engine scripts;

private:
    std::function<std::int64_t()> now_;
    keyspace keys_;
};

server::server(std::function<std::int64_t()> now) : state_{std::make_unique<state>(std::move(now))}
{}

server::~server() = default;

reply server::run(std::string_view text, words keys, words arguments)
{
    auto on = state_->open(*this);
    on.is_full = is_full;
    return state_->scripts.run(text, keys, arguments, on);
}

reply server::call(std::string_view text, words keys, words arguments)
{
    constexpr std::string_view number = "7";
    std::vector<std::string_view> numbered(arguments.begin(), arguments.end());
    numbered.push_back(number);
    auto got = run(text, keys, numbered);
    if (got.what == reply::kind::error)
        return got;
    if (got.items.empty() || got.items.front().text != number)
        return reply::error("ERR the reply does not begin with the number of its call");
    got.items.erase(got.items.begin());
    return got;
}

namespace {

/// A client, by RESP3, gets each member in a list with its score; a script gets one list of all.
reply in_pairs(reply const& flat)
{
    std::vector<reply> pairs;
    for (std::size_t i = 0; i + 1 < flat.items.size(); i += 2)
        pairs.push_back(reply::of(std::vector{flat.items[i], flat.items[i + 1]}));
    return reply::of(std::move(pairs));
}

}  // namespace

reply server::command(words given)
{
    auto on = state_->open(*this);
    auto const* const what = given.empty() ? nullptr : find_command(given.front());
    if (!what) {
        std::string text = "ERR unknown command '" + std::string{given.empty() ? "" : given[0]} +
            "', with args beginning with: ";
        for (auto const word : given.subspan(given.empty() ? 0 : 1))
            text.append("'").append(word).append("' ");
        return reply::error(text);
    }
    if (!what->takes(given.size()))
        return reply::error(
            "ERR wrong number of arguments for '" + std::string{what->name} + "' command"
        );
    auto got = carry_out(*what, on, given);
    bool const has_scores = is_option(given.back(), "WITHSCORES");
    return has_scores && got.what == reply::kind::list ? in_pairs(got) : reply{std::move(got)};
}

keyspace const& server::data()
{
    auto const on = state_->open(*this);
    on.keys.expire(on.now_ms());
    return on.keys;
}

keyspace const& server::stored() const noexcept { return state_->keys(); }

void server::restore(keyspace keys) { state_->keys() = std::move(keys); }

}  // namespace colock::simulation
