#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock::decide {

inline constexpr unsigned slot_count = 16'384;
inline constexpr std::size_t longest_name = 10'000;
inline constexpr std::size_t longest_prefix = 1'000;

/// The hash slot of a key, as a cluster computes it: CRC-16 (XMODEM) of the part between the first
/// `{` and the first `}` after it, or of the whole key when there is no such part or it is empty.
unsigned slot_of(std::string_view key) noexcept;

/// Appends a number in decimal.
template <class String, class Number>
void write_number(String& to, Number n)
{
    std::array<char, 20> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
    to.append(digits.data(), end);
}

/// Appends a key that belongs to a name and is in its slot: unchanged if the name has a `{`,
/// otherwise in braces.
template <class String>
void write_derived(
    String& to, std::string_view prefix, std::string_view kind, std::string_view name
)
{
    bool const is_braced = name.find('{') != name.npos;
    to.append(prefix).append(kind).append(is_braced ? "" : "{").append(name);
    to.append(is_braced ? "" : "}");
}

// `prefix` is the client's key prefix. All keys of a client begin with it. `name` begins with it
// too, so that all keys that are derived from a name are in the name's slot.

/// Whether the keys that are derived from a name are in the name's slot. Braces that are unpaired
/// or empty, as in `a{b` or `x{}`, name no slot. The braces of a prefix do; see `validate`.
bool keeps_slot(std::string_view prefix, std::string_view name) noexcept;

/// Redisson's unlock channel: `redisson_lock__channel:{name}`, or without the braces when the name
/// has a `{` of its own.
std::string lock_channel(std::string_view name, std::string_view prefix = {});

/// The list of those who wait for a lock or for permits, `colock_wait:{name}:turns`, appended. A
/// name that is wholly in braces follows once more, because the name without them has another list.
template <class String>
void write_wait_list(String& to, std::string_view name, std::string_view prefix)
{
    write_derived(to, prefix, "colock_wait:", name);
    to.append(":turns");
    if (name.starts_with('{') && name.ends_with('}'))
        to.append(":").append(name);
}
std::string wait_list(std::string_view name, std::string_view prefix = {});

/// The entry in that list of the request with this field: with the number of permits that it wants,
/// if these are several.
std::string list_entry(std::string_view field, std::int64_t permits = 1);

/// How the names of the clients' mailboxes begin, before the id of a client:
/// `redisson_lock__channel:{colock}:mailbox:`. The mailboxes of one slot of a cluster have the tag
/// of its fencing counter in the braces.
std::string mailbox_prefix(std::optional<unsigned> slot, std::string_view prefix = {});
std::string_view mailbox_tag(std::optional<unsigned> slot) noexcept;
template <class String>
void write_mailbox_prefix(String& to, std::optional<unsigned> slot, std::string_view prefix)
{
    to.append(prefix).append("redisson_lock__channel:");
    to.append(mailbox_tag(slot)).append(":mailbox:");
}

/// The channel by which others ask the holder to let go.
std::string request_channel(std::string_view lock_channel);

/// Redisson's channel of both kinds of semaphores: `redisson_sc:{name}`, braces as above.
std::string semaphore_channel(std::string_view name, std::string_view prefix = {});

/// Redisson's channel of a latch, `redisson_countdownlatch__channel__{name}`: always with braces.
std::string latch_channel(std::string_view name, std::string_view prefix = {});

/// The key of a permit semaphore's leases: `{name}:timeout`, braces as above.
std::string permit_leases(std::string_view name, std::string_view prefix = {});

/// The key of the record of a client's last request that must run once: `colock_once:{name}:<id>`,
/// braces as above; `colock_once:{name}:{name}:<id>` for a name that is wholly in braces.
std::string request_record(
    std::string_view name, std::string_view id, std::string_view prefix = {}
);

/// The further keys of a fair lock, in its slot, with braces as above. The first two are
/// Redisson's: the waiters in their order, and when each counts as dead. `tickets` has the tickets
/// of colock that heartbeats keep alive.
struct fair_keys {
    explicit fair_keys(std::string_view name, std::string_view prefix = {});

    std::string queue;     ///< `redisson_lock_queue:{name}`
    std::string timeouts;  ///< `redisson_lock_timeout:{name}`
    std::string tickets;   ///< `colock_lock_tickets:{name}`
};

/// The channel that tells the fair waiter with this field that its turn has come.
std::string fair_channel(
    std::string_view name, std::string_view field, std::string_view prefix = {}
);

/// Redisson's channel of both sides of a read-write lock: `redisson_rwlock:{name}`.
std::string read_write_channel(std::string_view name, std::string_view prefix = {});

/// The prefix of the lease keys of a read-write lock: `{name}`. The key of a reader's n-th hold is
/// `{name}:<field>:rwlock_timeout:<n>`.
std::string lease_prefix(std::string_view name, std::string_view prefix = {});

/// The counter of Redisson's fenced lock: `redisson_lock_token:{name}`.
std::string token_counter(std::string_view name, std::string_view prefix = {});

/// The words that the leader of an election publishes: `colock_leader:{name}`.
std::string leader_words(std::string_view name, std::string_view prefix = {});

/// The fencing counter that the locks of this slot share, `colock_fence:{tag}`, in the same slot.
/// The tag is the least decimal number whose slot is this one: part of the data format.
std::string_view fence_counter(unsigned slot);

}  // namespace colock::decide
