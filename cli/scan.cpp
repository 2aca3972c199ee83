// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "reading.hpp"
#include "scan.hpp"
#include "status.hpp"
#include "text.hpp"

#include <algorithm>
#include <utility>

namespace cli {

namespace {

/// Keys a call: each takes the server well under a millisecond.
constexpr char const* keys_a_scan = "500";

/// Names of fields that are looked at to see whether a hash is a lock's.
constexpr char const* fields_a_look = "16";

/// Locks can't have longer names.
constexpr std::size_t longest_key = 10'000;

/// A depth has not more digits. Longer values are the application's, and may be huge.
constexpr std::int64_t longest_depth = 20;

/// PTTL's answer for a key that is gone.
constexpr std::int64_t no_such_key = -2;

}  // namespace

struct lock_scan::candidate {
    std::string key;
    std::vector<std::string> fields;  ///< some of them; `mode` is always the first
};

/// Nothing if these are not the fields of a lock.
std::optional<lock_scan::candidate> lock_scan::candidate_of(
    std::string const& key, reply const& names
)
{
    candidate found{key, {"mode"}};
    for (auto const& name : names.items) {
        if (name.text == "mode")
            continue;
        if (!is_owner(name.text))
            return {};
        found.fields.push_back(name.text);
    }
    if (found.fields.size() == 1)
        return {};
    return found;
}

asio::awaitable<std::vector<reply>> lock_scan::ask(std::vector<session::question> all)
{
    return session_.ask_many(std::move(all));
}

asio::awaitable<void> lock_scan::run(std::string pattern)
{
    auto const servers = co_await primaries_of(session_, settings_);
    for (auto const& server : servers)
        co_await scan(server, pattern);
}

asio::awaitable<void> lock_scan::scan(primary const& server, std::string const& pattern)
{
    std::string cursor = "0";
    do {
        std::vector<std::string> words{
            "SCAN", cursor, "MATCH", pattern, "COUNT", keys_a_scan, "TYPE", "hash"};
        auto const answer = co_await session_.ask(server.key, std::move(words));
        if (answer.what != reply::kind::list || answer.items.size() != 2)
            throw failure{
                status_refused,
                "scan: " + (server.place.empty() ? session_.place() : server.place) + ": " +
                    answer.text + "; the user needs SCAN"};
        cursor = answer.items[0].text;
        // A server that is resizing its table may name many more keys than it was asked for.
        std::span<reply const> keys = answer.items[1].items;
        while (!keys.empty()) {
            auto const part = std::min(keys.size(), session::most_at_once);
            co_await look(server, keys.first(part));
            keys = keys.subspan(part);
        }
    } while (cursor != "0");
}

// A hash of the application may be large, and each of its values: only the names of some fields are
// looked at.
asio::awaitable<void> lock_scan::look(primary const& server, std::span<reply const> keys)
{
    std::vector<session::question> names;
    std::vector<std::string> asked;
    for (auto const& key : keys) {
        ++looked_at_;
        if (key.text.size() > longest_key)
            continue;
        names.push_back({server.key, {"HRANDFIELD", key.text, fields_a_look}});
        asked.push_back(key.text);
    }
    auto const answers = co_await ask(std::move(names));
    std::vector<candidate> locks;
    for (std::size_t i = 0; i != asked.size(); ++i)
        if (is_answer(answers[i]))
            if (auto lock = candidate_of(asked[i], answers[i]))
                locks.push_back(std::move(*lock));
    co_await read(server, std::move(locks));
}

/// The hashes that are locks by the names of their fields; first asks for the length of the values.
asio::awaitable<void> lock_scan::read(primary const& server, std::vector<candidate> locks)
{
    std::vector<session::question> lengths, depths;
    for (auto const& lock : locks)
        for (auto const& field : lock.fields)
            lengths.push_back({server.key, {"HSTRLEN", lock.key, field}});
    auto const known = co_await ask(std::move(lengths));
    auto length = known.begin();
    std::erase_if(locks, [&](candidate const& lock) {
        bool is_lock = true;
        for (std::size_t i = 0; i != lock.fields.size(); ++i, ++length)
            is_lock = is_lock && is_answer(*length) && length->number <= longest_depth;
        return !is_lock;
    });
    for (auto const& lock : locks) {
        for (auto const& field : lock.fields)
            depths.push_back({server.key, {"HGET", lock.key, field}});
        depths.push_back({server.key, {"PTTL", lock.key}});
        depths.push_back({server.key, {"HLEN", lock.key}});
    }
    auto const answers = co_await ask(std::move(depths));
    std::vector<picture> found;
    std::span<reply const> next = answers;
    for (auto const& lock : locks) {
        auto const count = lock.fields.size();
        auto const of_lock = next.first(count + 2);
        if (std::ranges::all_of(of_lock, [this](reply const& r) { return is_answer(r); }))
            if (auto p = picture_of(
                    lock, of_lock.first(count), of_lock[count], of_lock[count + 1].number
                ))
                found.push_back(std::move(*p));
        next = next.subspan(of_lock.size());
    }
    co_await add_labels(session_, found);
    for (auto& p : found)
        found_(std::move(p));
}

/// False of a refusal, which is noted.
bool lock_scan::is_answer(reply const& r)
{
    if (r.what == reply::kind::error)
        note_refusal(r);
    return r.what != reply::kind::error;
}

std::optional<picture> lock_scan::picture_of(
    candidate const& lock, std::span<reply const> depths, reply const& lease, std::int64_t size
)
{
    reply hash = reply::of(std::vector<reply>{});
    for (std::size_t i = 0; i != lock.fields.size(); ++i) {
        if (depths[i].what == reply::kind::nil)
            continue;  // released meanwhile, or no read-write lock
        hash.items.push_back(reply::of(lock.fields[i]));
        hash.items.push_back(depths[i]);
    }
    auto const owners = read_owners(hash);
    if (!owners || lease.number == no_such_key)
        return std::nullopt;
    picture p;
    p.key = lock.key;
    p.what = picture::content::lock;
    p.kind = owners->mode.empty() ? "lock" : "read-write";
    p.holders = owners->all;
    p.more_holders =
        std::max<std::int64_t>(0, size - static_cast<std::int64_t>(hash.items.size() / 2));
    if (lease.number >= 0)
        p.lease = milliseconds{lease.number};
    return p;
}

void lock_scan::note_refusal(reply const& answer)
{
    // A key that is no longer a hash has changed since the scan, and is not a lock.
    if (answer.text.starts_with("WRONGTYPE"))
        return;
    if (answer.text.starts_with("ERR unknown command"))
        throw failure{
            status_refused,
            "look at hashes: " + answer.text + "; it needs Redis 6.2 or later, or Valkey"};
    if (refused_++ != 0)
        return;
    auto const is_permission = answer.text.starts_with("NOPERM");
    status_ = is_permission ? status_refused : status_unavailable;
    why_refused_ = answer.text;
    if (is_permission)
        why_refused_ += "; the user needs HRANDFIELD, HSTRLEN, HGET, HLEN and PTTL on the keys";
}

std::string lock_scan::refusal() const
{
    if (refused_ == 0)
        return {};
    return counted(refused_, "hash", "es") + " could not be looked at: " + why_refused_;
}

}  // namespace cli
