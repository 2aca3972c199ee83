#include "decide/names.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <array>
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

/// A counter's name, of at most 6 digits.
struct counter_name {
    static constexpr std::string_view start = "colock_fence:{";
    std::array<char, start.size() + 7> text;
    unsigned char size = 0;
};

// Some 150,000 checksums, each from the checksum of the number's head and one more digit: under a
// millisecond, once per process. More would be felt in a short process such as the command.
std::vector<counter_name> make_fence_counters()
{
    std::vector<counter_name> counters(slot_count);
    std::vector<std::uint16_t> checksums;  // by number
    checksums.reserve(1U << 18U);
    unsigned missing = slot_count;
    boost::crc_optimal<16, 0x1021, 0, 0, false, false> crc;
    for (unsigned n = 0; missing != 0; ++n) {
        crc.reset(n < 10 ? 0 : checksums[n / 10]);
        crc.process_byte(static_cast<unsigned char>('0' + n % 10));
        checksums.push_back(crc.checksum());
        counter_name& counter = counters[checksums.back() % slot_count];
        if (counter.size != 0)
            continue;
        auto const first = counter.text.begin();
        auto end = std::copy(counter_name::start.begin(), counter_name::start.end(), first);
        end = std::to_chars(end, counter.text.end(), n).ptr;
        *end++ = '}';
        counter.size = static_cast<unsigned char>(end - first);
        --missing;
    }
    return counters;
}

std::string derived(std::string_view prefix, std::string_view kind, std::string_view name)
{
    std::string key;
    key.reserve(prefix.size() + kind.size() + name.size() + 2);
    write_derived(key, prefix, kind, name);
    return key;
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

bool keeps_slot(std::string_view prefix, std::string_view name) noexcept
{
    auto const open = name.find('{');
    if (prefix.find('{') != prefix.npos)
        return true;
    if (open == name.npos)
        return name.find('}') == name.npos;  // it would end the braces that derived keys get
    auto const close = name.find('}', open + 1);
    return close != name.npos && close != open + 1;
}

std::string lock_channel(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "redisson_lock__channel:", name);
}

std::string wait_list(std::string_view name, std::string_view prefix)
{
    std::string key;
    write_wait_list(key, name, prefix);
    return key;
}

std::string list_entry(std::string_view field, std::int64_t permits)
{
    std::string entry{field};
    if (permits != 1)
        entry.append(1, ':').append(std::to_string(permits));
    return entry;
}

std::string_view mailbox_tag(std::optional<unsigned> slot) noexcept
{
    auto tag = slot ? fence_counter(*slot) : std::string_view{"{colock}"};
    tag.remove_prefix(tag.find('{'));
    return tag;
}

std::string mailbox_prefix(std::optional<unsigned> slot, std::string_view prefix)
{
    std::string name;
    write_mailbox_prefix(name, slot, prefix);
    return name;
}

std::string request_channel(std::string_view lock_channel)
{
    return std::string{lock_channel}.append(":request");
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

std::string request_record(std::string_view name, std::string_view id, std::string_view prefix)
{
    auto key = derived(prefix, "colock_once:", name);
    // The record of the name without these braces is another one, in the same slot.
    if (name.starts_with('{') && name.ends_with('}'))
        key.append(":").append(name);
    return key.append(":").append(id);
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

std::string leader_words(std::string_view name, std::string_view prefix)
{
    return derived(prefix, "colock_leader:", name);
}

std::string_view fence_counter(unsigned slot)
{
    static std::vector<counter_name> const counters = make_fence_counters();
    return {counters[slot].text.data(), counters[slot].size};
}

}  // namespace colock::decide
