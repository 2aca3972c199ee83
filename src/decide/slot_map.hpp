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

/// A range of slots and the node that serves it, as a node reports it.
struct slot_range {
    unsigned first = 0;
    unsigned last = 0;
    address primary{};
    std::vector<address> replicas{};  ///< that the node knows to be well

    /// Whether they lead the client to the same place.
    friend bool operator==(slot_range const& a, slot_range const& b) noexcept
    {
        return a.first == b.first && a.last == b.last && a.primary == b.primary;
    }
};

/// Clusters have up to 1,000 nodes by Redis's own advice. The client has state for each.
inline constexpr std::size_t most_nodes = 2'000;

/// Reads the reply to CLUSTER SLOTS; empty if it is not one: if it has too many nodes, or names a
/// slot twice, which no cluster does, and to read which could take minutes. A node
/// without a host has the host of the asked node; a node that does not know its host has its IP
/// address, or is left out.
std::optional<std::vector<slot_range>> read_cluster_slots(
    reply const&, std::string const& asked_host
);

/// Whether each slot is in one of them.
bool are_whole(std::vector<slot_range> const&);

/// Which node serves each slot. Each node has a permanent number, in the order in which the client
/// learned of them.
class slot_map {
public:
    static constexpr unsigned nobody = static_cast<unsigned>(-1);

    slot_map() { owners_.fill(nobody); }

    /// Takes over a node's map of the cluster. Returns the slots that have a new owner. A slot that
    /// the map does not name keeps its owner: the node may have just joined, and not know all yet.
    slot_set assign(std::vector<slot_range> const&);

    /// Takes over a node's answer about one slot. True if it changes the map.
    bool move(unsigned slot, address const& to);

    unsigned owner_of(unsigned slot) const noexcept { return owners_[slot]; }

    /// The number of the node at this address, a new one if it has none.
    unsigned number_of(address const&);

    std::vector<address> const& nodes() const noexcept { return nodes_; }
    bool serves(unsigned node) const noexcept;

    /// The last map named an owner of each slot.
    bool is_whole() const noexcept { return is_whole_; }

private:
    std::array<unsigned, slot_count> owners_;
    std::vector<address> nodes_;
    bool is_whole_ = false;
};

}  // namespace colock::decide
