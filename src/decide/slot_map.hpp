#pragma once

#include "decide/names.hpp"
#include "decide/reply.hpp"
#include <colock/config.hpp>

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <vector>

namespace colock::decide {

using slot_set = std::bitset<slot_count>;

/// Slots that one node serves, as it says.
struct slot_range {
    unsigned first = 0;
    unsigned last = 0;
    address primary{};

    friend bool operator==(slot_range const&, slot_range const&) = default;
};

/// The reply to CLUSTER SLOTS; nothing if it is none. A node that does not say its host has that
/// of the one that was asked; one that does not know it is left out.
std::optional<std::vector<slot_range>> read_cluster_slots(
    reply const&, std::string const& asked_host
);

/// Which node serves each slot. Nodes have numbers, for good: by the order in which they were
/// first heard of.
class slot_map {
public:
    static constexpr unsigned nobody = static_cast<unsigned>(-1);

    slot_map() { owners_.fill(nobody); }

    /// Takes over what a node says of the whole cluster. Gives the slots that are another's now.
    slot_set assign(std::vector<slot_range> const&);

    /// Takes over what a node says of one slot. True if that is news.
    bool move(unsigned slot, address const& to);

    unsigned owner_of(unsigned slot) const noexcept { return owners_[slot]; }

    /// The number of the node at this address, a new one if it has none.
    unsigned number_of(address const&);

    std::vector<address> const& nodes() const noexcept { return nodes_; }
    bool serves(unsigned node) const noexcept;

    /// Each slot has an owner.
    bool is_whole() const noexcept;

private:
    std::array<unsigned, slot_count> owners_;
    std::vector<address> nodes_;
};

}  // namespace colock::decide
