// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The settings of servers, for the verdict on failovers.
#include "failovers.hpp"
#include "text.hpp"
#include <colock/admin.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cli {

using colock::admin::ask_server;
using colock::admin::server_answers;
using loss = failover_verdict::loss;
using system_time = std::chrono::system_clock::time_point;

namespace {

std::vector<std::vector<std::string>> questions()
{
    std::vector<std::vector<std::string>> all;
    all.push_back(words("INFO"));
    for (char const* each : {"min-replicas-to-write", "min-replicas-max-lag", "replica-priority"})
        all.push_back(words("CONFIG", "GET", each));
    all.push_back(words("TIME"));
    return all;
}

std::optional<unsigned> number_in(reply const& of_config)
{
    return of_config.items.size() == 2 ? number_of<unsigned>(of_config.items[1].text)
                                       : std::nullopt;
}

/// How far the server's clock is ahead of ours; half of the way is taken for the way to it.
std::optional<std::chrono::microseconds> ahead(
    reply const& time, system_time asked, system_time answered
)
{
    if (time.items.size() != 2)
        return std::nullopt;
    auto const at = std::chrono::microseconds{
        std::atoll(time.items[0].text.c_str()) * 1'000'000 +
        std::atoll(time.items[1].text.c_str())};
    auto const half = asked + (answered - asked) / 2;
    return at - std::chrono::duration_cast<std::chrono::microseconds>(half.time_since_epoch());
}

copy_settings settings_in(std::string place, server_answers const& told)
{
    copy_settings made{.place = std::move(place)};
    if (told.replies.size() != questions().size())
        return made;
    fields const info{told.replies[0]};
    if (info.has("maxmemory_policy"))
        made.eviction = info.text("maxmemory_policy");
    if (info.has("aof_enabled"))
        made.has_aof = info.number("aof_enabled") != 0;
    made.min_replicas = number_in(told.replies[1]);
    made.max_lag = number_in(told.replies[2]);
    made.priority = number_in(told.replies[3]);
    if (!made.priority && info.has("slave_priority"))
        made.priority = static_cast<unsigned>(info.number("slave_priority"));
    made.clock = ahead(told.replies[4], told.asked, told.answered);
    return made;
}

/// A value of `ip=…,port=…`.
std::string part_of(std::string const& line, std::string const& name)
{
    auto const at = line.find(name + '=');
    if (at == line.npos)
        return {};
    auto const begin = at + name.size() + 1;
    return line.substr(begin, line.find(',', begin) - begin);
}

std::vector<colock::address> replicas_in(fields const& info, colock::config const& settings)
{
    std::vector<colock::address> all;
    auto const count = static_cast<int>(info.number("connected_slaves"));
    for (int i = 0; i != count; ++i) {
        auto const line = info.text("slave" + std::to_string(i));
        auto const port = number_of<std::uint16_t>(part_of(line, "port"));
        if (!port)
            continue;
        colock::address const named{.host = part_of(line, "ip"), .port = *port};
        all.push_back(settings.map_address ? settings.map_address(named) : named);
    }
    return all;
}

std::string value_in(reply const& pairs, std::string_view name)
{
    for (std::size_t i = 0; i + 1 < pairs.items.size(); i += 2)
        if (pairs.items[i].text == name)
            return pairs.items[i + 1].text;
    return {};
}

/// The lowest quorum that one of them has.
asio::awaitable<void> ask_sentinels(options const& o, colock::config settings, failover_facts& into)
{
    settings.username = settings.sentinel_username;
    settings.password = settings.sentinel_password;
    settings.database = 0;
    for (auto const& where : std::vector(settings.addresses)) {
        settings.addresses = {where};
        std::vector<std::vector<std::string>> asked;
        asked.push_back(words("SENTINEL", "MASTER", settings.master_name));
        auto told = co_await ask_server(settings, std::move(asked), o.connect_timeout);
        if (told.replies.empty())
            continue;
        auto const& of = told.replies.front();
        auto const others = number_of<unsigned>(value_in(of, "num-other-sentinels"));
        auto const quorum = number_of<unsigned>(value_in(of, "quorum"));
        auto const replicas = number_of<unsigned>(value_in(of, "num-slaves"));
        if (!others || !quorum)
            continue;
        into.sentinels = std::max(into.sentinels.value_or(0), *others + 1);
        into.quorum = std::min(into.quorum.value_or(*quorum), *quorum);
        into.replicas = std::max(into.replicas, replicas.value_or(0));
    }
}

}  // namespace

asio::awaitable<failover_facts> ask_for_failovers(
    session& s, options const& o, colock::config const& settings, std::string key, std::string place
)
{
    failover_facts facts;
    facts.profile = settings.durability;
    facts.lease = o.lease.value_or(settings.lease);
    facts.topology = settings.topology;
    facts.are_paused = o.are_failovers_paused;
    server_answers of_primary;
    for (auto& each : questions()) {
        of_primary.asked = std::chrono::system_clock::now();  // the last is TIME
        of_primary.replies.push_back(co_await s.ask(key, std::move(each)));
    }
    of_primary.answered = std::chrono::system_clock::now();
    facts.servers.push_back(settings_in(place.empty() ? "the primary" : place, of_primary));
    fields const info{of_primary.replies.front()};
    auto const replicas = replicas_in(info, settings);
    for (auto const& where : replicas) {
        auto other = settings;
        other.addresses = {where};
        auto told = co_await ask_server(std::move(other), questions(), o.connect_timeout);
        facts.servers.push_back(settings_in(colock::describe(where), told));
    }
    facts.replicas = static_cast<unsigned>(replicas.size());
    if (info.empty())
        facts.replicas = 1;  // it does not tell, and there may be some
    if (settings.topology == colock::topology::sentinel)
        co_await ask_sentinels(o, settings, facts);
    if (settings.topology == colock::topology::replicated)
        facts.replicas =
            std::max(facts.replicas, static_cast<unsigned>(settings.addresses.size()) - 1);
    facts.replicas = settings.replicas.value_or(facts.replicas);
    co_return facts;
}

finding judge_condition(failover_condition const& c)
{
    using state = failover_condition::state;
    if (c.is == state::met)
        return {finding::level::good, "failover", std::string{c.what} + ": " + c.found, {}};
    return {
        finding::level::note,
        "failover",
        c.found,
        std::string{"a failover can lose "} + c.loses + ", unless " + c.what};
}

char const* word_of(loss which) noexcept
{
    switch (which) {
    case loss::no: return "no";
    case loss::not_by_one_fault: return "not by one fault";
    case loss::yes: break;
    }
    return "yes";
}

std::string said_of(failover_verdict const& v)
{
    std::string text = word_of(v.can_lose);
    if (!v.can_fail_over)
        return text + ", because there is no replica to fail over to";
    if (v.can_lose == loss::no)
        return text +
            ", because all replicas have each lock. Nobody gets one while a replica is away";
    if (v.can_lose == loss::not_by_one_fault)
        return text +
            ", but by two at once: a kill while Sentinels or nodes can't reach the replica that "
            "has the lock";
    char const* before = ", because ";
    for (auto const& each : v.conditions)
        if (each.is != failover_condition::state::met)
            text += std::exchange(before, ", ") + std::string{each.name} + " (" + each.found + ")";
    return text;
}

}  // namespace cli
