#include "decide/slot_map.hpp"

#include <algorithm>
#include <limits>

namespace colock::decide {

namespace {

bool is_number(reply const& r, std::int64_t most) noexcept
{
    return r.what == reply::kind::integer && r.number >= 0 && r.number <= most;
}

}  // namespace

// [[first, last, [host, port, id, …], replica …], …]
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
        auto const& host = node[0].text;
        if (host == "?" || node[1].number == 0)
            continue;
        ranges.push_back(
            {static_cast<unsigned>(each.items[0].number),
             static_cast<unsigned>(each.items[1].number),
             {host.empty() ? asked_host : host, static_cast<std::uint16_t>(node[1].number)}}
        );
    }
    return ranges;
}

slot_set slot_map::assign(std::vector<slot_range> const& ranges)
{
    auto const before = owners_;
    owners_.fill(nobody);
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

bool slot_map::is_whole() const noexcept { return !serves(nobody); }

}  // namespace colock::decide
