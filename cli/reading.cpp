// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "reading.hpp"
#include "status.hpp"
#include "text.hpp"
#include <colock/admin/layout.hpp>

#include <boost/asio/as_tuple.hpp>

#include <algorithm>
#include <utility>

namespace cli {

namespace admin = colock::admin;

namespace {

enum place : std::size_t { type, hash, ttl, queue, counter, listening, sharded, standing, places };

std::vector<session::question> questions_about(std::string const& key)
{
    admin::lock_names const names{key};
    std::vector<std::string> plain{"PUBSUB", "NUMSUB"}, shards{"PUBSUB", "SHARDNUMSUB"};
    for (auto const& channel : channels_of(key)) {
        plain.push_back(channel);
        shards.push_back(channel);
    }
    return {
        {key, {"TYPE", key}},
        {key, {"HSCAN", key, "0", "COUNT", "16"}},
        {key, {"PTTL", key}},
        {key, {"LRANGE", names.queue, "0", "-1"}},
        {key, {"EXISTS", names.token_counter}},
        {key, plain},
        {key, shards},
        {key, {"ZCOUNT", names.wait_list, "-inf", "+inf"}}};
}

/// All fields of the hash, as HGETALL replies, if its first ones are a lock's. A hash of the
/// application may have millions, and the server would serve nobody else meanwhile.
asio::awaitable<reply> read_hash(session& from, std::string key, reply scanned)
{
    bool is_begin = true;
    while (scanned.items.size() == 2) {
        auto const cursor = scanned.items[0].text;
        auto fields = std::move(scanned.items[1]);
        bool const is_end = cursor == "0";
        // A single field may be that of the mode.
        bool const tells = fields.items.size() > 2;
        if ((is_end && is_begin) || (tells && !read_owners(fields)))
            co_return fields;
        if (is_end || tells)
            co_return co_await from.ask(key, words("HGETALL", key));
        is_begin = false;
        scanned = co_await from.ask(key, words("HSCAN", key, cursor, "COUNT", "16"));
    }
    co_return scanned;
}

std::int64_t sum_of(reply const& counts)
{
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < counts.items.size(); i += 2)
        sum += counts.items[i].number;
    return sum;
}

std::string kind_of(owners const& found, picture const& p, reply const& has_counter)
{
    if (!found.mode.empty())
        return "read-write";
    if (!p.queue.empty())
        return "fair";
    return has_counter.number != 0 ? "fenced" : "lock";
}

}  // namespace

std::vector<std::string> channels_of(std::string const& key)
{
    admin::lock_names const names{key};
    return {names.channel, names.read_write_channel};
}

// The first of the wait list listens to the semaphore's own channel, too.
asio::awaitable<std::int64_t> count_permit_waiters(session& from, std::string key)
{
    admin::lock_names const names{key};
    auto const& channel = names.permit_channel;
    std::vector<session::question> asked{
        {key, {"PUBSUB", "NUMSUB", channel}},
        {key, {"PUBSUB", "SHARDNUMSUB", channel}},
        {key, {"ZCOUNT", names.wait_list, "-inf", "+inf"}}};
    auto const answers = co_await from.ask_all(std::move(asked));
    auto const listening = sum_of(answers[0]) + sum_of(answers[1]);
    co_return std::max(listening, answers[2].number);
}

asio::awaitable<picture> read_picture(session& from, std::string key)
{
    auto answers = co_await from.ask_all(questions_about(key));
    answers[hash] = co_await read_hash(from, key, std::move(answers[hash]));
    for (auto const wanted : {type, hash, ttl})
        if (answers[wanted].what == reply::kind::error &&
            !answers[wanted].text.starts_with("WRONGTYPE"))
            throw failure{
                answers[wanted].text.starts_with("NOPERM") ? status_refused : status_unavailable,
                shown(key) + ": read: " + from.place() + ": " + answers[wanted].text +
                    "; the user needs TYPE, HSCAN, HGETALL and PTTL on the key"};
    picture p;
    p.key = key;
    p.type = answers[type].text;
    for (auto const& each : answers[queue].items)
        p.queue.push_back(each.text);
    if (answers[listening].what == reply::kind::list) {
        // A client of the list may listen to the lock's channel, too.
        p.listeners = std::max(
            sum_of(answers[listening]) + sum_of(answers[sharded]), answers[standing].number
        );
    }
    auto const found = read_owners(answers[hash]);
    if (found) {
        p.what = picture::content::lock;
        p.holders = found->all;
        p.kind = kind_of(*found, p, answers[counter]);
        if (answers[ttl].number >= 0)
            p.lease = milliseconds{answers[ttl].number};
    } else if (p.type != "none")
        p.what = picture::content::something_else;
    co_await add_labels(from, {&p, 1});
    co_return p;
}

asio::awaitable<void> add_labels(session& from, std::span<picture> locks)
{
    std::vector<colock::lock_info> known;
    std::vector<session::question> all;
    std::vector<std::size_t> counts;
    for (auto const& lock : locks) {
        auto& one = known.emplace_back();
        for (auto const& each : lock.holders)
            one.holders.push_back(
                {each.field, std::string{admin::client_of(each.field)}, {}, each.side, each.depth}
            );
        auto const before = all.size();
        for (auto& each : admin::questions_about_clients(one))
            all.push_back(std::move(each));
        counts.push_back(all.size() - before);
    }
    if (all.empty())
        co_return;
    auto const answers = co_await from.ask_many(std::move(all));
    auto next = answers.begin();
    for (std::size_t i = 0; i != locks.size(); ++i) {
        auto const end = next + static_cast<std::ptrdiff_t>(counts[i]);
        admin::add_labels(known[i], locks[i].key, {next, end});
        next = end;
        for (std::size_t h = 0; h != locks[i].holders.size(); ++h) {
            locks[i].holders[h].label = known[i].holders[h].label;
            locks[i].holders[h].held_for = known[i].holders[h].held_for;
        }
    }
}

asio::awaitable<bool> holds_no_lock(session& from, std::string key)
{
    co_return shows_no_lock(co_await from.ask(key, words("HSCAN", key, "0", "COUNT", "16")));
}

asio::awaitable<std::string> own_field(session& from, std::string key)
{
    auto field = from.redis().id();
    // HKEYS would be enough, but a user that may lock need not have it.
    auto asked = from.server().ask(key, {"HGETALL", key}, asio::as_tuple(asio::deferred));
    auto const [ec, answer] = co_await std::move(asked);
    if (!ec)
        for (std::size_t i = 0; i < answer.items.size(); i += 2)
            if (answer.items[i].text.starts_with(field))
                field = answer.items[i].text;
    co_return field;
}

asio::awaitable<std::vector<primary>> primaries_of(session& from, colock::config const& settings)
{
    if (settings.topology != colock::topology::cluster)
        co_return std::vector<primary>(1);
    auto const answer = co_await from.ask({}, words("CLUSTER", "SLOTS"));
    auto const found = admin::read_primaries(answer, settings.addresses.front().host);
    if (!found)
        throw failure{
            status_refused,
            "ask with CLUSTER SLOTS: " + from.place() + ": " + answer.text +
                "; the user needs CLUSTER SLOTS"};
    co_return *found;
}

}  // namespace cli
