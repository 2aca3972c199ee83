// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/patience.hpp"
#include "support/sentinel_group.hpp"

#include <stdexcept>

namespace colock::test {

namespace {

std::vector<std::string> joined(
    std::vector<std::string> first, std::vector<std::string> const& second
)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// Of an answer that is names and values in turn.
std::string field(reply const& answer, std::string_view name)
{
    for (std::size_t i = 0; i + 1 < answer.items.size(); i += 2)
        if (answer.items[i].text == name)
            return answer.items[i + 1].text;
    return {};
}

/// Nothing if the connection broke: sentinels have a server whose role they change drop its
/// clients.
reply ask_gently(redis_server& server, std::vector<std::string> const& words)
{
    try {
        return server.command(words);
    } catch (std::exception const&) {
        return {};
    }
}

/// Whether there are `count` of them, and each is what it should be and nothing worse.
bool all_well(reply const& answer, std::size_t count, std::string_view flags)
{
    if (answer.items.size() != count)
        return false;
    for (auto const& item : answer.items)
        if (field(item, "flags") != flags)
            return false;
    return true;
}

}  // namespace

std::string const& sentinel_group::name()
{
    static std::string const it = "the-primary";
    return it;
}

sentinel_group::sentinel_group(
    server_kind kind,
    std::vector<std::string> const& data_lines,
    std::vector<std::string> const& sentinel_lines
)
{
    start_servers(kind, data_lines);
    start_sentinels(kind, sentinel_lines);
}

void sentinel_group::start_servers(server_kind kind, std::vector<std::string> const& lines)
{
    std::vector<std::string> own{
        "repl-diskless-sync yes",
        "repl-diskless-sync-delay 0",
        "repl-ping-replica-period 1",
        "replica-announce-ip 127.0.0.1",
    };
    servers_.push_back(std::make_unique<redis_server>(kind, joined(own, lines)));
    own.push_back("replicaof 127.0.0.1 " + std::to_string(server(0).port()));
    while (servers_.size() != servers)
        servers_.push_back(std::make_unique<redis_server>(kind, joined(own, lines)));
    // Before the sentinels, who ask who the replicas are as soon as they start.
    wait_until("the replicas", patience, [this] { return is_in_step(1, 0) && is_in_step(2, 0); });
}

void sentinel_group::start_sentinels(server_kind kind, std::vector<std::string> const& lines)
{
    auto const set = [](std::string const& what, std::string const& value) {
        return "sentinel " + what + ' ' + name() + ' ' + value;
    };
    std::vector<std::string> const own{
        "sentinel resolve-hostnames no",
        set("monitor", "127.0.0.1 " + std::to_string(server(0).port()) + " 2"),
        set("down-after-milliseconds", std::to_string(down_after.count())),
        set("failover-timeout", "2000"),
        set("parallel-syncs", "2"),
    };
    std::vector<std::string> const arguments{"--sentinel"};
    while (sentinels_.size() != sentinels) {
        sentinels_.push_back(
            std::make_unique<redis_server>(kind, joined(own, lines), true, arguments)
        );
        quicken(*sentinels_.back());
    }
    wait_until("the sentinels", patience, [this] {
        for (auto const& each : sentinels_)
            if (!knows_all(*each))
                return false;
        return true;
    });
}

/// They look around more often than their configuration lets them. But while a primary is dead they
/// ask replicas for news once a second, whatever these say, and promote none whose news is older
/// than five periods of pings or three of news.
void sentinel_group::quicken(redis_server& sentinel)
{
    using period = std::pair<char const*, char const*>;
    for (auto const& [what, time] : {
             period{"ping-period", "300"},
             period{"info-period", "500"},
             period{"publish-period", "200"},
             period{"ask-period", "200"},
         }) {
        auto const answer = sentinel.ask("SENTINEL", "DEBUG", what, time);
        if (answer.text != "OK")
            throw std::runtime_error{"sentinel_group: SENTINEL DEBUG: " + answer.text};
    }
}

bool sentinel_group::knows_all(redis_server& sentinel)
{
    return field(sentinel.ask("SENTINEL", "MASTER", name()), "flags") == "master" &&
        all_well(sentinel.ask("SENTINEL", "REPLICAS", name()), servers - 1, "slave") &&
        all_well(sentinel.ask("SENTINEL", "SENTINELS", name()), sentinels - 1, "sentinel");
}

bool sentinel_group::is_in_step(std::size_t replica, std::size_t primary)
{
    // "slave", host, port, state of the link, offset
    auto const role = ask_gently(server(replica), {"ROLE"});
    return role.items.size() == 5 && role.items[0].text == "slave" &&
        role.items[2].number == server(primary).port() && role.items[3].text == "connected";
}

/// To all running sentinels.
bool sentinel_group::is_known_replica(std::size_t i)
{
    auto const port = std::to_string(server(i).port());
    for (auto const& each : sentinels_) {
        if (!each->is_running())
            continue;
        bool found = false;
        for (auto const& replica : each->ask("SENTINEL", "REPLICAS", name()).items)
            found |= field(replica, "port") == port && field(replica, "flags") == "slave" &&
                field(replica, "master-link-status") == "ok";
        if (!found)
            return false;
    }
    return true;
}

/// No running sentinel doubts the primary or is about to replace it.
bool sentinel_group::is_calm()
{
    for (std::size_t i = 0; i != sentinels; ++i)
        if (sentinel(i).is_running() && flags_of_primary(i) != "master")
            return false;
    return true;
}

std::vector<address> sentinel_group::addresses() const
{
    std::vector<address> all;
    for (auto const& each : sentinels_)
        all.push_back({.host = "127.0.0.1", .port = each->port()});
    return all;
}

config sentinel_group::by_sentinel() const
{
    config c;
    c.topology = topology::sentinel;
    c.addresses = addresses();
    c.master_name = name();
    return c;
}

std::string sentinel_group::flags_of_primary(std::size_t sentinel_number)
{
    return field(sentinel(sentinel_number).ask("SENTINEL", "MASTER", name()), "flags");
}

bool sentinel_group::is_primary(std::size_t i)
{
    auto const role = ask_gently(server(i), {"ROLE"});
    return !role.items.empty() && role.items[0].text == "master";
}

std::optional<std::size_t> sentinel_group::agreed_primary()
{
    std::string port;
    for (auto const& each : sentinels_) {
        if (!each->is_running())
            continue;
        auto const named = each->ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name());
        if (named.items.size() != 2 || (!port.empty() && named.items[1].text != port))
            return {};
        port = named.items[1].text;
    }
    for (std::size_t i = 0; i != servers; ++i) {
        if (std::to_string(server(i).port()) != port || !server(i).is_running())
            continue;
        if (is_primary(i))
            return i;
    }
    return {};
}

std::size_t sentinel_group::current_primary()
{
    std::optional<std::size_t> found;
    wait_until("a primary that all agree on", patience, [&] {
        return (found = agreed_primary()).has_value();
    });
    return *found;
}

std::size_t sentinel_group::kill_primary()
{
    auto const old = current_primary();
    server(old).kill();
    return old;
}

std::size_t sentinel_group::wait_for_failover(std::size_t old, milliseconds limit)
{
    std::size_t now = old;
    wait_until("the failover", limit, [&] {
        now = agreed_primary().value_or(old);
        return now != old && is_calm();
    });
    return now;
}

void sentinel_group::wait_until_calm()
{
    wait_until("calm sentinels", patience, [&] {
        auto const primary = agreed_primary();
        if (!primary || !is_calm())
            return false;
        for (std::size_t i = 0; i != servers; ++i)
            if (i != *primary && !(is_in_step(i, *primary) && is_known_replica(i)))
                return false;
        return true;
    });
}

void sentinel_group::revive(std::size_t i, milliseconds limit)
{
    server(i).is_paused() ? server(i).resume() : server(i).start();
    wait_until("the replica to be back", limit, [&] {
        auto const primary = agreed_primary();
        return primary && is_in_step(i, *primary) && is_known_replica(i) && is_calm();
    });
}

void sentinel_group::pause_replica(std::size_t i)
{
    if (i == current_primary())
        throw std::logic_error{"sentinel_group: it is no replica"};
    server(i).pause();
}

}  // namespace colock::test
