#pragma once

#include "base/clock.hpp"
#include "core/core.hpp"
#include "decide/copies.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"
#include <colock/multi_lock.hpp>
#include <colock/options.hpp>

#include <string>

// The checks of arguments, before anything is sent.
namespace colock {
inline namespace v0_3 {
namespace detail {

inline failure valid_if(bool good) noexcept
{
    return good ? failure{} : failure{error::invalid_argument};
}

/// In a cluster all keys and channels of a name have to be in its slot.
inline failure check_name(core const& inside, std::string const& name) noexcept
{
    auto const& settings = inside.settings();
    if (name.empty() || name.size() > decide::longest_name)
        return error::invalid_argument;
    return settings.topology == topology::cluster && !decide::keeps_slot(settings.key_prefix, name)
        ? error::no_hash_tag
        : failure{};
}

inline failure check_lease(acquire_options const& options) noexcept
{
    auto const least = options.renew ? decide::shortest_renewed_lease : decide::shortest_lease;
    return valid_if(
        !options.lease || (*options.lease >= least && *options.lease <= decide::longest_lease)
    );
}

/// Whether the lock can stay taken for `at_least`: a lease that is not renewed has to last that
/// long.
inline failure check_at_least(acquire_options const& options) noexcept
{
    auto const time = options.at_least;
    bool const lasts = !options.lease || options.renew || *options.lease >= time;
    return valid_if(
        time == milliseconds{0} ||
        (time > milliseconds{0} && time <= decide::longest_lease && lasts)
    );
}

/// The copies that the options ask for.
inline failure check_copies(acquire_options const& options) noexcept
{
    auto const number = options.sync_replicas;
    constexpr int most = decide::copies::most_replicas;
    auto const level = options.durability.value_or(durability::none);
    bool const is_level = level >= durability::none && level <= durability::disk;
    return valid_if(
        number >= 0 && number <= most && is_level && !(number != 0 && options.durability)
    );
}

/// How long there is to wait; nothing if the moment has passed.
inline milliseconds wait_until(time_point until) noexcept
{
    auto const now = clock::now();
    return until <= now ? milliseconds{0} : std::chrono::ceil<milliseconds>(until - now);
}

inline failure check(core const& inside, lock_id const& id, acquire_options const& options) noexcept
{
    auto const& [initial, max, factor] = id.waits;
    bool const can_pause =
        initial >= milliseconds{1} && max >= initial && factor >= 1 && max <= decide::longest_lease;
    if (auto ec = check_lease(options))
        return ec;
    if (auto ec = check_at_least(options))
        return ec;
    if (auto ec = check_copies(options))
        return ec;
    return can_pause ? check_name(inside, id.name) : failure{error::invalid_argument};
}

inline failure check(lock_group const& of, acquire_options const& options) noexcept
{
    auto const limit = of.server_limit.value_or(milliseconds{1});
    if (of.parts.empty() || limit <= milliseconds{0} || limit > decide::longest_lease)
        return error::invalid_argument;
    if (!options.re_entrant || options.at_least != milliseconds{0})
        return error::invalid_argument;
    for (auto const& part : of.parts)
        if (auto ec = check(*part.where, part.id, options))
            return ec;
    return {};
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
