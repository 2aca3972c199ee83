// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Moving a slot.
#include "support/redis_cluster.hpp"

#include <stdexcept>

namespace colock::test {

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
