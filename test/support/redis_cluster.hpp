// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/redis_server.hpp"
#include <colock/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

enum class migration_step {
    begun,  ///< the slot is migrating at its owner and importing at the target
    moved,  ///< and its keys are at the target
    ended   ///< it is the target's
};

/// A cluster of servers of our own on ports of 127.0.0.1. The nodes are counted from 0: first the
/// primaries, in the order of their slots, then the first primary's replicas, then the next one's;
/// a node keeps its number whatever becomes of it. All of them go with this object.
///
/// Operations that wait throw std::runtime_error when their time is over, and all of them when a
/// node refuses what they ask for.
class redis_cluster {
public:
    using milliseconds = std::chrono::milliseconds;

    /// How long a node doesn't answer until the others suspect it.
    static constexpr milliseconds node_timeout{1'000};

    /// Ready when this returns: all nodes know each other, and all replicas are in step. `lines`
    /// go into the configuration file of each.
    explicit redis_cluster(
        server_kind,
        unsigned primaries = 3,
        unsigned replicas_each = 1,
        std::vector<std::string> lines = {}
    );

    std::size_t size() const noexcept { return nodes_.size(); }
    redis_server& node(std::size_t i) { return *nodes_.at(i); }

    /// The name that the cluster knows it by.
    std::string const& id(std::size_t i) const { return ids_.at(i); }

    /// Of all nodes.
    std::vector<address> addresses() const;

    /// Where a client finds it.
    config by_cluster() const;

    /// Those that run and own slots.
    std::vector<redis_server*> primaries();

    unsigned slot_of(std::string const& key);

    /// The running node that owns the slot. \throws std::runtime_error if there is none.
    std::size_t primary_of(unsigned slot);

    /// Moves a slot while it is used, as an operator's tool does, and tells which step is done.
    void migrate(
        unsigned slot, std::size_t to, std::function<void(migration_step)> const& done = {}
    );

    /// Its steps.
    void begin_migration(unsigned slot, std::size_t to);
    void move_keys(unsigned slot, std::size_t to);
    void end_migration(unsigned slot, std::size_t to);

    /// Instead of `move_keys`: this key alone. False if its owner doesn't have it.
    bool move_key(std::string const& key, std::size_t to);

    /// Kills a node at once, with all that it remembers but its place in the cluster.
    void kill(std::size_t i) { node(i).kill(); }

    /// Lets a replica of this primary take its place, by CLUSTER FAILOVER, as often as necessary.
    void replace(std::size_t primary);

    /// Waits until another node owns the slot, says so itself, and all running nodes agree. Returns
    /// it.
    std::size_t wait_for_failover(unsigned slot, std::size_t previous, milliseconds limit);

    /// Starts it again, or lets it go on, if it does not run, and waits until it has its place:
    /// that of a replica that is in step, or, if nobody took over from it, that of the primary that
    /// it was.
    void revive(std::size_t i, milliseconds limit = milliseconds{15'000});

private:
    void start(server_kind, std::vector<std::string> const& lines);
    void give_slots(unsigned primaries);
    void introduce();
    void attach_replicas(unsigned primaries, unsigned replicas_each);
    bool is_ready(unsigned replicas);

    void demand(std::size_t i, std::vector<std::string> const& words);
    bool move(std::size_t from, std::size_t to, std::vector<std::string> const& keys);

    cluster_view view_of(std::size_t i);
    bool is_ok(std::size_t i);
    bool is_in_step(std::size_t i);
    bool is_settled(std::size_t i);
    bool all_name(std::size_t owner, unsigned slot);
    std::vector<std::size_t> running();
    std::optional<std::size_t> owner_of(unsigned slot);

    std::vector<std::unique_ptr<redis_server>> nodes_;
    std::vector<std::string> ids_;
};

/// One of this kind for all tests of the process that leave it whole.
redis_cluster& shared_cluster(server_kind);

}  // namespace colock::test
