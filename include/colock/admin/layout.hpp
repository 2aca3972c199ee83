// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/admin/reply.hpp>
#include <colock/inspect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The keys and channels of colock in Redis, beside the hash of each lock that docs/redisson.md
// shows.
namespace colock {
inline namespace v0_3 {
namespace admin {

// `prefix` is the `config::key_prefix` of the clients; a key begins with it, too.

/// The further keys and the channels of the lock or semaphore of a key.
struct lock_names {
    explicit lock_names(std::string_view key, std::string_view prefix = {});

    std::string wait_list;           ///< a sorted set: those who wait
    std::string queue;               ///< a list: the waiting fields of a fair lock, in their order
    std::string token_counter;       ///< of a fenced lock
    std::string channel;             ///< releases
    std::string read_write_channel;  ///< releases of a read-write lock
    std::string permit_channel;      ///< permits that are given back
};

/// Whether it is what a lock's hash has as a field: a client's id, a colon, a number.
bool is_owner(std::string_view field);

/// The client of such a field.
std::string_view client_of(std::string_view field);

/// A client's word on itself: its label, what it holds and what it waits for. It is the value of a
/// key `colock_client:…`, which each client that has a label writes again and again.
struct client_report {
    /// A hold, or an acquire that waits.
    struct entry {
        bool waits = false;
        std::string kind;         ///< plain, fair, read, permit…
        std::string key;          ///< of the lock or semaphore
        std::string id;           ///< of a hold: its field, or the permit's id in hexadecimal
        std::uint64_t owner = 0;  ///< which `colock::owner` of that client it is
        std::chrono::milliseconds age{};  ///< when the report was written

        friend bool operator==(entry const&, entry const&) = default;
    };

    std::string client;  ///< its id
    std::string label;
    std::vector<entry> entries;
    bool is_whole = true;  ///< false: there was more than a report takes

    friend bool operator==(client_report const&, client_report const&) = default;
};

/// The most entries of one sort that a report takes.
inline constexpr std::size_t most_reported = 64;

/// A report is written again after this time, and ends by itself after its life.
inline constexpr std::chrono::milliseconds report_beat{5'000};
inline constexpr std::chrono::milliseconds report_life{15'000};

/// Nothing if it is not such a text, or is of a later form.
std::optional<client_report> read_client_report(std::string_view);

/// The commands that tell the labels of these holders; none if there is no holder.
std::vector<question> questions_about_clients(lock_info const&, std::string_view prefix = {});

/// Adds to the holders of this key what the answers to these say: their labels, and since when they
/// hold it.
void add_labels(lock_info&, std::string const& key, std::vector<reply> const& answers);

/// A primary of a cluster.
struct primary {
    std::string key;    ///< one that it serves
    std::string place;  ///< `host:port`
};

/// The primaries in the reply to CLUSTER SLOTS; nothing if it is none. A node without a host has
/// that of the node which was asked.
std::optional<std::vector<primary>> read_primaries(
    reply const& slots, std::string const& asked_host
);

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
