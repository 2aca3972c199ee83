// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/patience.hpp"
#include "support/redis_cluster.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace colock::test {

namespace {

std::pair<unsigned, unsigned> range_of(std::string const& text)
{
    auto const first = static_cast<unsigned>(std::stoul(text));
    auto const dash = text.find('-');
    if (dash == text.npos)
        return {first, first};
    return {first, static_cast<unsigned>(std::stoul(text.substr(dash + 1)))};
}

/// id address flags primary ping-sent pong-received epoch link slot...
cluster_member member_of(std::string const& line)
{
    std::istringstream words{line};
    std::string where, flags, primary, sent, received, link, slots;
    cluster_member found;
    words >> found.id >> where >> flags >> primary >> sent >> received >> found.epoch >> link;
    auto const is = [&](char const* flag) { return flags.find(flag) != flags.npos; };
    found.is_myself = is("myself");
    found.is_replica = is("slave");
    found.is_met = !is("handshake") && !is("noaddr");
    found.is_suspected = is("fail");
    found.is_connected = link == "connected";
    if (found.is_replica)
        found.primary_id = primary;
    while (words >> slots)
        if (slots.front() != '[')  // [slot->-id] and [slot-<-id] are migrations
            found.slots.push_back(range_of(slots));
    return found;
}

}  // namespace

bool cluster_member::owns(unsigned slot) const noexcept
{
    return std::any_of(slots.begin(), slots.end(), [slot](auto const& range) {
        return range.first <= slot && slot <= range.second;
    });
}

cluster_view::cluster_view(std::string_view cluster_nodes)
{
    std::istringstream text{std::string{cluster_nodes}};
    for (std::string line; std::getline(text, line);)
        if (!line.empty())
            members_.push_back(member_of(line));
}

cluster_member const* cluster_view::find(std::string_view id) const noexcept
{
    auto const same = [id](auto const& member) { return member.id == id; };
    auto const found = std::find_if(members_.begin(), members_.end(), same);
    return found == members_.end() ? nullptr : &*found;
}

cluster_member const& cluster_view::myself() const
{
    for (auto const& member : members_)
        if (member.is_myself)
            return member;
    throw std::runtime_error{"cluster_view: the node doesn't name itself"};
}

namespace {

constexpr unsigned all_slots = 16'384;
constexpr std::chrono::seconds forming_limit{20};

/// Settings that make it quick to form and to fail over, and that keep each node where it is.
std::vector<std::string> cluster_lines()
{
    return {
        "cluster-enabled yes",
        "cluster-config-file nodes.conf",
        "cluster-node-timeout " + std::to_string(redis_cluster::node_timeout.count()),
        "cluster-require-full-coverage no",
        "cluster-allow-replica-migration no",
        "cluster-replica-validity-factor 0",
        "repl-diskless-sync yes",
        "repl-diskless-sync-delay 0",
        "repl-ping-replica-period 1",
    };
}

}  // namespace

redis_cluster::redis_cluster(
    server_kind kind, unsigned primaries, unsigned replicas_each, std::vector<std::string> lines
)
{
    auto all = cluster_lines();
    all.insert(all.end(), lines.begin(), lines.end());
    nodes_.resize(primaries * (1 + replicas_each));
    start(kind, all);
    give_slots(primaries);
    introduce();
    attach_replicas(primaries, replicas_each);
    auto const replicas = primaries * replicas_each;
    wait_until("the cluster", forming_limit, [&] { return is_ready(replicas); });
}

void redis_cluster::start(server_kind kind, std::vector<std::string> const& lines)
{
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
        nodes_[i] = std::make_unique<redis_server>(kind, lines);
        ids_.push_back(node(i).ask("CLUSTER", "MYID").text);
        // As long as it is alone: nodes with equal epochs would first have to sort that out.
        demand(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
}

void redis_cluster::give_slots(unsigned primaries)
{
    for (unsigned i = 0; i != primaries; ++i) {
        // Redis before 7.0 has no ADDSLOTSRANGE.
        std::vector<std::string> words{"CLUSTER", "ADDSLOTS"};
        auto const end = all_slots * (i + 1) / primaries;
        for (auto slot = all_slots * i / primaries; slot != end; ++slot)
            words.push_back(std::to_string(slot));
        demand(i, words);
    }
}

void redis_cluster::introduce()
{
    // Each to each: rumours alone take seconds.
    for (std::size_t i = 0; i != size(); ++i)
        for (std::size_t j = i + 1; j != size(); ++j)
            demand(i, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(j).port())});
    auto const know_each_other = [this] {
        for (std::size_t i = 0; i != size(); ++i) {
            auto const view = view_of(i);
            if (view.members().size() != size())
                return false;
            for (auto const& member : view.members())
                if (!member.is_met || !member.is_connected)
                    return false;
        }
        return true;
    };
    wait_until("the nodes to know each other", forming_limit, know_each_other);
}

void redis_cluster::attach_replicas(unsigned primaries, unsigned replicas_each)
{
    for (std::size_t i = primaries; i != size(); ++i)
        demand(i, {"CLUSTER", "REPLICATE", id((i - primaries) / replicas_each)});
}

bool redis_cluster::is_ready(unsigned replicas)
{
    for (std::size_t i = 0; i != size(); ++i) {
        if (!is_ok(i) || !is_in_step(i))
            return false;
        auto const view = view_of(i);
        auto const& all = view.members();
        auto const is_replica = [](auto const& member) { return member.is_replica; };
        if (std::count_if(all.begin(), all.end(), is_replica) != static_cast<long>(replicas))
            return false;
        for (std::size_t j = 0; j != size(); ++j)
            if (view.find(id(j))->is_suspected)
                return false;
    }
    return true;
}

std::vector<address> redis_cluster::addresses() const
{
    std::vector<address> all;
    for (auto const& each : nodes_)
        all.push_back({.host = "127.0.0.1", .port = each->port()});
    return all;
}

config redis_cluster::by_cluster() const
{
    config c;
    c.topology = topology::cluster;
    c.addresses = addresses();
    return c;
}

std::vector<redis_server*> redis_cluster::primaries()
{
    std::vector<redis_server*> found;
    for (auto const i : running())
        if (!view_of(i).myself().is_replica)
            found.push_back(&node(i));
    return found;
}

unsigned redis_cluster::slot_of(std::string const& key)
{
    auto const someone = running().at(0);
    return static_cast<unsigned>(node(someone).ask("CLUSTER", "KEYSLOT", key).number);
}

std::size_t redis_cluster::primary_of(unsigned slot)
{
    if (auto const found = owner_of(slot))
        return *found;
    throw std::runtime_error{"redis_cluster: nobody owns slot " + std::to_string(slot)};
}

std::size_t redis_cluster::wait_for_failover(
    unsigned slot, std::size_t previous, milliseconds limit
)
{
    std::size_t now = previous;
    wait_until("the failover", limit, [&] {
        auto const owner = owner_of(slot);
        now = owner.value_or(previous);
        return now != previous && is_ok(now) && all_name(now, slot);
    });
    return now;
}

// The others vote for a shard once in two node timeouts, and a request that they refuse is given up
// after five seconds.
void redis_cluster::replace(std::size_t primary)
{
    auto const all = running();
    auto const replica = std::ranges::find_if(all, [&](std::size_t i) {
        return view_of(i).myself().primary_id == id(primary);
    });
    if (replica == all.end())
        throw std::runtime_error{"redis_cluster: the primary has no replica"};
    for (int i = 0; i != 5; ++i) {
        demand(*replica, {"CLUSTER", "FAILOVER"});
        if (holds_within(milliseconds{6'000}, [&] {
                return !view_of(*replica).myself().is_replica;
            }))
            return;
    }
    throw std::runtime_error{"redis_cluster: the replica does not take over"};
}

void redis_cluster::revive(std::size_t i, milliseconds limit)
{
    if (node(i).is_paused())
        node(i).resume();
    else if (!node(i).is_running())
        node(i).start();
    wait_until("the node to be back in the cluster", limit, [&] { return is_settled(i); });
}

void redis_cluster::demand(std::size_t i, std::vector<std::string> const& words)
{
    auto const answer = node(i).command(words);
    if (answer.what == reply::kind::error)
        throw std::runtime_error{"redis_cluster: " + words.at(1) + ": " + answer.text};
}

cluster_view redis_cluster::view_of(std::size_t i)
{
    return cluster_view{node(i).ask("CLUSTER", "NODES").text};
}

bool redis_cluster::is_ok(std::size_t i)
{
    auto const info = node(i).ask("CLUSTER", "INFO").text;
    return info.find("cluster_state:ok") != info.npos;
}

/// A primary always is.
bool redis_cluster::is_in_step(std::size_t i)
{
    auto const info = node(i).ask("INFO", "replication").text;
    return info.find("role:master") != info.npos || info.find("master_link_status:up") != info.npos;
}

bool redis_cluster::is_settled(std::size_t i)
{
    if (!is_ok(i) || !is_in_step(i))
        return false;
    auto const view = view_of(i);
    auto const& own = view.myself();
    for (auto const other : running()) {
        auto const seen = view_of(other);
        auto const* const it = seen.find(id(i));
        // One that comes back claims its slots until it hears who has them now.
        if (!it || it->is_suspected || it->is_replica != own.is_replica || it->slots != own.slots)
            return false;
    }
    return true;
}

bool redis_cluster::all_name(std::size_t owner, unsigned slot)
{
    for (auto const each : running()) {
        auto const seen = view_of(each);
        auto const* const it = seen.find(id(owner));
        if (!it || !it->owns(slot))
            return false;
    }
    return true;
}

std::vector<std::size_t> redis_cluster::running()
{
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i != size(); ++i)
        if (node(i).is_running())
            found.push_back(i);
    return found;
}

/// Of several that say so, the one whom the others will believe.
std::optional<std::size_t> redis_cluster::owner_of(unsigned slot)
{
    std::optional<std::size_t> found;
    std::int64_t newest = -1;
    for (auto const i : running()) {
        auto const view = view_of(i);
        auto const& own = view.myself();
        if (own.owns(slot) && own.epoch > newest) {
            newest = own.epoch;
            found = i;
        }
    }
    return found;
}

redis_cluster& shared_cluster(server_kind kind)
{
    static std::map<server_kind, std::unique_ptr<redis_cluster>> clusters;
    auto& found = clusters[kind];
    if (!found)
        found = std::make_unique<redis_cluster>(kind);
    return *found;
}

// Moving a slot.

void redis_cluster::migrate(
    unsigned slot, std::size_t to, std::function<void(migration_step)> const& done
)
{
    auto const tell = [&done](migration_step step) {
        if (done)
            done(step);
    };
    begin_migration(slot, to);
    tell(migration_step::begun);
    move_keys(slot, to);
    tell(migration_step::moved);
    end_migration(slot, to);
    tell(migration_step::ended);
}

void redis_cluster::begin_migration(unsigned slot, std::size_t to)
{
    auto const from = primary_of(slot);
    auto const which = std::to_string(slot);
    // The target first: the source begins to send clients there.
    demand(to, {"CLUSTER", "SETSLOT", which, "IMPORTING", id(from)});
    demand(from, {"CLUSTER", "SETSLOT", which, "MIGRATING", id(to)});
}

void redis_cluster::move_keys(unsigned slot, std::size_t to)
{
    auto const from = primary_of(slot);
    while (true) {
        auto const found = node(from).ask("CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "10");
        std::vector<std::string> keys;
        for (auto const& item : found.items)
            keys.push_back(item.text);
        if (keys.empty())
            return;
        move(from, to, keys);
    }
}

bool redis_cluster::move_key(std::string const& key, std::size_t to)
{
    return move(primary_of(slot_of(key)), to, {key});
}

bool redis_cluster::move(std::size_t from, std::size_t to, std::vector<std::string> const& keys)
{
    std::vector<std::string> words{"MIGRATE", "127.0.0.1", std::to_string(node(to).port())};
    for (auto const* word : {"", "0", "4000", "REPLACE"})
        words.emplace_back(word);
    if (auto const& password = node(to).password(); !password.empty())
        words.insert(words.end(), {"AUTH", password});
    words.emplace_back("KEYS");
    words.insert(words.end(), keys.begin(), keys.end());
    auto const answer = node(from).command(words);
    if (answer.what == reply::kind::error)
        throw std::runtime_error{"redis_cluster: MIGRATE: " + answer.text};
    return answer.text != "NOKEY";
}

void redis_cluster::end_migration(unsigned slot, std::size_t to)
{
    auto const from = primary_of(slot);
    std::vector<std::string> const words{
        "CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id(to)};
    // The target first: between the two, a source that has given up the slot would send clients
    // to a target that sends them back.
    demand(to, words);
    demand(from, words);
    for (auto const each : running())
        if (each != to && each != from && !view_of(each).myself().is_replica)
            demand(each, words);
}

}  // namespace colock::test
