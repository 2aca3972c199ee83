#include "decide/slot_map.hpp"
#include <colock/admin/layout.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace colock::decide {

namespace {

bool is_number(reply const& r, std::int64_t most) noexcept
{
    return r.what == reply::kind::integer && r.number >= 0 && r.number <= most;
}

// A node that has no host of the preferred kind says its address beside.
std::string host_of(std::vector<reply> const& node, std::string const& asked_host)
{
    auto const& host = node[0].text;
    if (host.empty())
        return asked_host;
    if (host != "?" || node.size() < 4)
        return host;
    auto const& more = node[3].items;
    for (std::size_t i = 0; i + 1 < more.size(); i += 2)
        if (more[i].text == "ip")
            return more[i + 1].text;
    return host;
}

/// Those whose address can't be read still count.
std::vector<address> replicas_of(std::vector<reply> const& range, std::string const& asked_host)
{
    std::vector<address> found;
    for (std::size_t i = 3; i < range.size(); ++i) {
        auto const& node = range[i].items;
        bool const is_known =
            node.size() >= 2 && is_number(node[1], std::numeric_limits<std::uint16_t>::max());
        found.push_back(
            is_known
                ? address{host_of(node, asked_host), static_cast<std::uint16_t>(node[1].number)}
                : address{}
        );
    }
    return found;
}

bool have_too_many_nodes(std::vector<slot_range> const& ranges)
{
    std::set<std::pair<std::string_view, std::uint16_t>> nodes;
    for (auto const& each : ranges) {
        nodes.emplace(each.primary.host, each.primary.port);
        for (auto const& replica : each.replicas)
            nodes.emplace(replica.host, replica.port);
    }
    return nodes.size() > most_nodes;
}

bool do_overlap(std::vector<slot_range> const& ranges)
{
    std::size_t slots = 0;
    for (auto const& each : ranges)
        slots += each.first <= each.last ? each.last - each.first + 1 : 0;
    return slots > slot_count;
}

}  // namespace

// [[first, last, [host, port, id, [name, value …]], replica …], …]
std::optional<std::vector<slot_range>> read_cluster_slots(
    reply const& r, std::string const& asked_host
)
{
    if (r.what != reply::kind::list)
        return std::nullopt;
    std::vector<slot_range> ranges;
    for (auto const& each : r.items) {
        if (each.items.size() < 3 || !is_number(each.items[0], slot_count - 1) ||
            !is_number(each.items[1], slot_count - 1))
            return std::nullopt;
        auto const& node = each.items[2].items;
        if (node.size() < 2 || !is_number(node[1], std::numeric_limits<std::uint16_t>::max()))
            return std::nullopt;
        auto host = host_of(node, asked_host);
        if (host == "?" || host.empty() || node[1].number == 0)
            continue;
        ranges.push_back(
            {static_cast<unsigned>(each.items[0].number),
             static_cast<unsigned>(each.items[1].number),
             {std::move(host), static_cast<std::uint16_t>(node[1].number)},
             replicas_of(each.items, asked_host)}
        );
    }
    if (do_overlap(ranges) || have_too_many_nodes(ranges))
        return std::nullopt;
    return ranges;
}

slot_set slot_map::assign(std::vector<slot_range> const& ranges)
{
    is_whole_ = are_whole(ranges);
    auto const before = owners_;
    for (auto const& range : ranges) {
        auto const node = number_of(range.primary);
        for (auto slot = range.first; slot <= range.last; ++slot)
            owners_[slot] = node;
    }
    slot_set changed;
    for (unsigned slot = 0; slot != slot_count; ++slot)
        changed[slot] = owners_[slot] != before[slot];
    return changed;
}

bool slot_map::move(unsigned slot, address const& to)
{
    auto const node = number_of(to);
    return std::exchange(owners_[slot], node) != node;
}

unsigned slot_map::number_of(address const& of)
{
    auto const at = std::ranges::find(nodes_, of);
    auto const number = static_cast<unsigned>(at - nodes_.begin());
    if (at == nodes_.end())
        nodes_.push_back(of);
    return number;
}

bool slot_map::serves(unsigned node) const noexcept
{
    return std::ranges::find(owners_, node) != owners_.end();
}

bool are_whole(std::vector<slot_range> const& ranges)
{
    slot_set named;
    for (auto const& range : ranges)
        for (unsigned slot = range.first; slot <= range.last; ++slot)
            named.set(slot);
    return named.all();
}

}  // namespace colock::decide

namespace colock {
inline namespace v0_3 {
namespace admin {

std::optional<std::vector<primary>> read_primaries(
    reply const& slots, std::string const& asked_host
)
{
    auto const ranges = decide::read_cluster_slots(slots, asked_host);
    if (!ranges)
        return {};
    std::vector<primary> found;
    for (auto const& range : *ranges) {
        auto place = describe(range.primary);
        if (std::ranges::find(found, place, &primary::place) == found.end())
            found.push_back({std::string{decide::fence_counter(range.first)}, std::move(place)});
    }
    return found;
}

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
