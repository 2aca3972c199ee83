#include "decide/names.hpp"

#include <boost/crc.hpp>

#include <charconv>
#include <vector>

namespace colock::decide {

namespace {

unsigned crc_slot(std::string_view part) noexcept
{
    boost::crc_optimal<16, 0x1021, 0, 0, false, false> crc;
    crc.process_bytes(part.data(), part.size());
    return crc.checksum() % slot_count;
}

// Some 150,000 short checksums, a few milliseconds once a process.
std::vector<std::string> make_fence_counters()
{
    std::vector<std::string> counters(slot_count);
    unsigned missing = slot_count;
    char digits[12];
    for (unsigned n = 0; missing != 0; ++n) {
        std::string_view const tag{digits, std::to_chars(digits, digits + sizeof digits, n).ptr};
        std::string& counter = counters[crc_slot(tag)];
        if (!counter.empty())
            continue;
        counter.append("colock_fence:{").append(tag).append("}");
        --missing;
    }
    return counters;
}

/// The part of a derived key that decides its slot as the name's: as it is, if it has a `{`.
std::string braced(std::string_view name)
{
    if (name.find('{') != name.npos)
        return std::string{name};
    return std::string{"{"}.append(name).append("}");
}

std::string derived(std::string_view prefix, std::string_view kind, std::string_view name)
{
    return std::string{prefix}.append(kind).append(braced(name));
}

}  // namespace

unsigned slot_of(std::string_view key) noexcept
{
    if (auto const open = key.find('{'); open != key.npos) {
        auto const close = key.find('}', open + 1);
        if (close != key.npos && close != open + 1)
            return crc_slot(key.substr(open + 1, close - open - 1));
    }
    return crc_slot(key);
}

std::string lock_channel(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "redisson_lock__channel:", name);
}

std::string semaphore_channel(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "redisson_sc:", name);
}

std::string latch_channel(std::string_view name, std::string_view prefix)
{
    return std::string{prefix}
        .append("redisson_countdownlatch__channel__{")
        .append(name)
        .append("}");
}

std::string permit_leases(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "", name) + ":timeout";
}

std::string once_record(std::string_view name, std::string_view id, std::string_view prefix)
{
    auto record = derived(prefix, "colock_once:", name).append(":").append(id);
    if (slot_of(record) == slot_of(name))
        return record;
    auto const counter = fence_counter(slot_of(name));
    record.assign(prefix).append("colock_once").append(counter.substr(counter.find('{')));
    return record.append(":").append(name).append(":").append(id);
}

fair_keys::fair_keys(std::string_view name, std::string_view prefix)
    : queue{derived(prefix, "redisson_lock_queue:", name)}
    , timeouts{derived(prefix, "redisson_lock_timeout:", name)}
    , tickets{derived(prefix, "colock_lock_tickets:", name)}
{}

std::string fair_channel(std::string_view name, std::string_view field, std::string_view prefix)
{
    return lock_channel(name, prefix).append(":").append(field);
}

std::string read_write_channel(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "redisson_rwlock:", name);
}

std::string lease_prefix(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "", name);
}

std::string token_counter(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "redisson_lock_token:", name);
}

std::string_view fence_counter(unsigned slot)
{
    static std::vector<std::string> const counters = make_fence_counters();
    return counters[slot];
}

}  // namespace colock::decide
