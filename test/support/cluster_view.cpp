// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/cluster_view.hpp"

#include <algorithm>
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

}  // namespace colock::test
