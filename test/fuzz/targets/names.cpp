// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Names of locks, which may come from anywhere: the slot of a name is that of a cluster, and all
// keys that are derived from it are in that slot.
#include "decide/names.hpp"
#include "fuzz/fuzz.hpp"

#include <string>
#include <string_view>

namespace colock::fuzz {

namespace {

/// CRC-16 (XMODEM), bit by bit.
unsigned checksum(std::string_view text) noexcept
{
    unsigned crc = 0;
    for (char const c : text) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
        for (int bit = 0; bit != 8; ++bit)
            crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xffffU;
    }
    return crc;
}

/// The tag between the first brace and the one that ends it; empty if there is none.
std::string_view tag_of(std::string_view key) noexcept
{
    auto const open = key.find('{');
    auto const close = open == key.npos ? open : key.find('}', open);
    return close == key.npos ? std::string_view{} : key.substr(open + 1, close - open - 1);
}

unsigned expected_slot(std::string_view key) noexcept
{
    auto const tag = tag_of(key);
    return checksum(tag.empty() ? key : tag) % decide::slot_count;
}

}  // namespace

void names(std::string_view name);

void names(std::string_view name)
{
    if (name.empty())
        return;  // no lock has that
    auto const slot = decide::slot_of(name);
    require(slot == expected_slot(name), "the slot is that of a cluster");
    require(decide::slot_of(decide::fence_counter(slot)) == slot, "a counter is in its slot");
    auto const in_slot = [slot](std::string const& key) { return decide::slot_of(key) == slot; };
    // A cluster's client refuses other names, which have keys in several slots.
    auto const is_tagged = !tag_of(name).empty() || name.find_first_of("{}") == name.npos;
    require(decide::keeps_slot("", name) == is_tagged, "a name without a tag is refused");
    if (!is_tagged)
        return;
    require(in_slot(decide::request_record(name, "1")), "a record is beside its name");
    decide::fair_keys const fair{name};
    require(
        in_slot(fair.queue) && in_slot(fair.timeouts) && in_slot(fair.tickets),
        "a queue is beside its lock"
    );
    require(in_slot(decide::permit_leases(name)), "leases are beside their semaphore");
    require(in_slot(decide::lease_prefix(name)), "readers are beside their lock");
    require(in_slot(decide::token_counter(name)), "a token is beside its lock");
}

}  // namespace colock::fuzz
