// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the nodes of a cluster say of its slots: replies to CLUSTER SLOTS, and errors in between
// that move one slot. The map is that of a plain table, and each slot's owner is the node that was
// named last.
#include "decide/slot_map.hpp"
#include "fuzz/fuzz.hpp"

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::fuzz {

using decide::reply;
using decide::slot_count;
using decide::slot_set;

namespace {

using table = std::array<address const*, slot_count>;

std::string const asked_host = "asked.example";

void check_ranges(std::vector<decide::slot_range> const& ranges)
{
    for (auto const& range : ranges) {
        require(range.first < slot_count && range.last < slot_count, "slots are in range");
        require(range.primary.port != 0, "a node has a port");
        require(!range.primary.host.empty() && range.primary.host != "?", "a node has a host");
        require(range.primary.unix_socket.empty(), "a node of a cluster is no file");
    }
}

/// They stay where they are.
using addresses = std::deque<address>;

void fill(table& to, std::vector<decide::slot_range> const& ranges, addresses& named)
{
    for (auto const& range : ranges) {
        named.push_back(range.primary);
        for (auto slot = range.first; slot <= range.last; ++slot)
            to[slot] = &named.back();
    }
}

bool is_same(address const* a, address const* b) noexcept { return a == b || (a && b && *a == *b); }

void check_same(decide::slot_map const& map, table const& wanted)
{
    for (unsigned slot = 0; slot != slot_count; ++slot) {
        auto const owner = map.owner_of(slot);
        require(
            owner == map.nobody || owner < map.nodes().size(), "each owner is a node of the map"
        );
        require((wanted[slot] != nullptr) == (owner != map.nobody), "a slot has an owner");
        require(!wanted[slot] || map.nodes()[owner] == *wanted[slot], "a slot has its owner");
    }
}

void take(
    decide::slot_map& map,
    table& wanted,
    std::vector<decide::slot_range> const& ranges,
    addresses& named
)
{
    check_ranges(ranges);
    auto const before = wanted;
    fill(wanted, ranges, named);
    auto const changed = map.assign(ranges);
    for (unsigned slot = 0; slot != slot_count; ++slot)
        require(changed[slot] == !is_same(before[slot], wanted[slot]), "what has changed is told");

    slot_set named_now;
    for (auto const& range : ranges)
        for (auto slot = range.first; slot <= range.last; ++slot)
            named_now.set(slot);
    require(map.is_whole() == named_now.all(), "a map is whole when it names each slot");
}

void move(decide::slot_map& map, table& wanted, std::string_view error_text, addresses& named)
{
    auto const to = decide::read_redirection(error_text);
    if (to.what != decide::redirection::kind::moved)
        return;
    auto const& where =
        named.emplace_back(address{to.host.empty() ? asked_host : to.host, to.port});
    bool const is_news = !is_same(std::exchange(wanted[to.slot], &where), &where);
    require(map.move(to.slot, where) == is_news, "a slot that moves is news");
}

}  // namespace

void slots(std::string_view bytes);

void slots(std::string_view bytes)
{
    decide::slot_map map;
    addresses named;
    table wanted{};
    int maps = 0;
    for (auto const& r : replies_in(bytes.substr(0, 4'096))) {
        auto const ranges = decide::read_cluster_slots(r, asked_host);
        require(!ranges || r.what == reply::kind::list, "a map is a list");
        if (r.what == reply::kind::error)
            move(map, wanted, r.text, named);
        else if (ranges && ++maps <= 4)
            take(map, wanted, *ranges, named);
    }
    check_same(map, wanted);
}

}  // namespace colock::fuzz
