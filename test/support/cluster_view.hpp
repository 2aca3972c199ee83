// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

/// What a node of a cluster says about one of its nodes.
struct cluster_member {
    std::string id;
    std::string primary_id;  ///< of a replica
    std::int64_t epoch = 0;
    bool is_myself = false;
    bool is_replica = false;
    bool is_met = false;        ///< the handshake is over
    bool is_suspected = false;  ///< by the one who was asked, or by the majority
    bool is_connected = false;
    std::vector<std::pair<unsigned, unsigned>> slots;  ///< first and last of each range

    bool owns(unsigned slot) const noexcept;
};

/// What a node says about all of them, itself included.
class cluster_view {
public:
    /// Reads the answer of CLUSTER NODES.
    explicit cluster_view(std::string_view cluster_nodes);

    std::vector<cluster_member> const& members() const noexcept { return members_; }
    cluster_member const* find(std::string_view id) const noexcept;

    /// The node that was asked. \throws std::runtime_error if it isn't named.
    cluster_member const& myself() const;

private:
    std::vector<cluster_member> members_;
};

}  // namespace colock::test
