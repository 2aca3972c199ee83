#include "decide/client_report.hpp"
#include "decide/copies.hpp"
#include "decide/names.hpp"
#include "decide/validate.hpp"
#include "decide/validity.hpp"
#include "system/socket_path.hpp"

#include <algorithm>
#include <iterator>

namespace colock::decide {

namespace {

/// With this prefix all keys of one name are in one slot.
bool keeps_slots_together(std::string const& prefix) noexcept
{
    return prefix.find_first_of("{}") == prefix.npos ||
        slot_of(prefix + "a") == slot_of(prefix + "b");
}

bool has_duplicates(std::vector<address> const& all) noexcept
{
    for (auto at = all.begin(); at != all.end(); ++at)
        if (std::find(std::next(at), all.end(), *at) != all.end())
            return true;
    return false;
}

char const* validate_address(address const& a) noexcept
{
    // Asio would throw where nobody could catch it.
    if (a.unix_socket.size() > longest_socket_path)
        return "a unix socket's path is longer than the system allows";
    if (!a.unix_socket.empty())
        return nullptr;
    if (a.host.empty())
        return "an address has neither a host nor a unix socket";
    return a.port == 0 ? "port must not be 0" : nullptr;
}

char const* validate_place(config const& s) noexcept
{
    if (s.addresses.empty())
        return "addresses is empty; name a server";
    bool const is_unix =
        std::ranges::any_of(s.addresses, [](address const& a) { return !a.unix_socket.empty(); });
    for (auto const& each : s.addresses)
        if (auto const* const wrong = validate_address(each))
            return wrong;
    if (is_unix && (s.topology != topology::single || s.tls.enabled))
        return "a unix socket is for one server, without TLS";
    if (s.database < 0)
        return "database must not be negative";
    switch (s.topology) {
    case topology::replicated:
        return has_duplicates(s.addresses) ? "addresses names a server twice" : nullptr;
    case topology::single:
        return s.addresses.size() == 1
            ? nullptr
            : "addresses has several servers; say by topology what they are";
    case topology::sentinel:
        return s.master_name.empty()
            ? "master_name is empty; say what the Sentinels call the primary"
            : nullptr;
    case topology::cluster:
        return keeps_slots_together(s.key_prefix)
            ? nullptr
            : "key_prefix: in a cluster its braces must name a hash tag";
    }
    return "topology has no such value";
}

char const* validate_connections(config const& s) noexcept
{
    if (s.links < 1 || s.links > 64)
        return "links must be from 1 to 64";
    auto const is_printable = [](char c) { return c >= '!' && c <= '~'; };
    if (!std::ranges::all_of(s.client_name, is_printable))  // the server refuses others
        return "client_name must be printable ASCII without spaces";
    if (s.label && !is_label(*s.label))
        return "label must be at most 128 bytes of UTF-8, without control characters";
    if (s.tls.certificate_file.empty() != s.tls.private_key_file.empty())
        return "tls needs certificate_file and private_key_file, or neither";
    if (s.credentials && !s.password.empty())
        return "password and credentials are both set; set one of them";
    if (s.sentinel_credentials && !s.sentinel_password.empty())
        return "sentinel_password and sentinel_credentials are both set; set one of them";
    constexpr milliseconds least{1};
    if (s.connect_timeout.value_or(least) < least || s.silence_timeout.value_or(least) < least ||
        s.sync_timeout < least || s.timeout < least)
        return "connect_timeout, silence_timeout, sync_timeout and timeout must be at least 1 ms";
    if (s.durability < durability::none || s.durability > durability::disk)
        return "durability has no such value";
    if (s.replicas.value_or(0) > copies::most_replicas)
        return "replicas must be at most 100";
    if (s.replicas && !copies{s.durability}.can_be_had(*s.replicas))
        return "durability wants a replica, and replicas says that there is none";
    if (s.max_reply_size < std::size_t{64} << 10U)
        return "max_reply_size must be at least 64 KiB";
    bool const is_sharded = s.publish == publishing::sharded || s.publish == publishing::both;
    if (is_sharded && s.topology != topology::cluster)
        return "publish: only a cluster has sharded channels";
    return s.key_prefix.size() <= longest_prefix ? nullptr
                                                 : "key_prefix must have at most 1,000 bytes";
}

bool is_any_too_long(config const& s) noexcept
{
    for (auto const limit :
         {s.poll_cap,
          s.max_tenure,
          s.linger,
          s.timeout,
          s.sync_timeout,
          s.connect_timeout.value_or(s.lease),
          s.silence_timeout.value_or(s.lease),
          s.max_hold.value_or(s.lease),
          s.warn_wait.value_or(s.lease),
          s.warn_hold.value_or(s.lease),
          s.vote_after.value_or(s.lease),
          s.loss_margin.value_or(s.lease),
          s.close_timeout.value_or(s.lease)})
        if (limit > longest_lease)
            return true;
    return false;
}

char const* validate_times(config const& s) noexcept
{
    if (s.lease < shortest_renewed_lease || s.lease > longest_lease)
        return "lease must be from 100 ms to ten years";
    if (s.max_hold && *s.max_hold <= milliseconds{0})
        return "max_hold must be positive";
    if (s.warn_wait && *s.warn_wait <= milliseconds{0})
        return "warn_wait must be positive";
    if (s.warn_hold && *s.warn_hold <= milliseconds{0})
        return "warn_hold must be positive";
    if (s.loss_margin && *s.loss_margin < milliseconds{0})
        return "loss_margin must not be negative";
    if (s.vote_after && *s.vote_after < milliseconds{0})
        return "vote_after must not be negative; 0 if the server loses nothing in a restart";
    if (s.close_timeout && *s.close_timeout < milliseconds{0})
        return "close_timeout must not be negative";
    if (s.poll_cap < milliseconds{10})
        return "poll_cap must be at least 10 ms";
    if (s.linger < milliseconds{0})
        return "linger must not be negative";
    if (s.max_tenure < milliseconds{0})
        return "max_tenure must not be negative; 0 turns hand-over off";
    return is_any_too_long(s) ? "no duration may be over ten years" : nullptr;
}

}  // namespace

char const* validate(config const& s) noexcept
{
    for (auto* about : {&validate_place, &validate_connections, &validate_times})
        if (auto const* const found = about(s))
            return found;
    return nullptr;
}

}  // namespace colock::decide
