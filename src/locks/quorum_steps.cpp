#include "core/core.hpp"
#include "core/query.hpp"
#include "holds/hold_state.hpp"
#include "holds/ownership.hpp"
#include "locks/lock_table.hpp"
#include "locks/quorum_steps.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace colock {

namespace {

using decide::raise_answer;

/// The ownership that the hold of a part stands for. It is set before the hold is given out, and
/// does not change.
std::shared_ptr<ownership> ownership_of(hold const& part)
{
    return std::static_pointer_cast<ownership>(detail::state_of(part)->target);
}

failure read_raise(answer const& got, raise_answer& read) noexcept
{
    using kind = decide::reply::kind;
    auto const& parts = got.value.items;
    if (got.value.what == kind::integer)  // the part is gone
        return {};
    if (got.value.what != kind::list || parts.size() != 2 || parts[0].what != kind::integer ||
        parts[1].what != kind::integer)
        return error::bad_reply;
    auto const counter = parts[0].number;
    if (counter < 0)
        read.behind = std::chrono::microseconds{-counter};
    else
        read.reached = static_cast<std::uint64_t>(counter);
    if (parts[1].number >= 0)
        read.up = std::chrono::seconds{parts[1].number};
    read.received = clock::now();
    return {};
}

}  // namespace

void raise_token(
    detail::lock_group::part const& part,
    hold const& got,
    std::uint64_t token,
    boost::asio::any_completion_handler<void(failure, raise_answer)> handler
)
{
    auto const& inside = part.where;
    auto const held = ownership_of(got);
    query<raise_answer>::start(
        inside,
        std::move(handler),
        {},
        {&scripts::raise,
         {held->name(), inside->fence_counter(held->slot())},
         {inside->field(held->number(), held->how().field_end), std::to_string(token)}},
        &read_raise
    );
}

void confirm_part(detail::lock_group::part const& part, hold const& got)
{
    asio::dispatch(part.where->strand(), [held = ownership_of(got)] { held->suspect(); });
}

void set_birth(detail::lock_group::part const& part, hold const& got, time_point born)
{
    asio::dispatch(part.where->strand(), [state = detail::state_of(got), born] {
        state->born = born;
    });
}

void set_token(detail::lock_group::part const& part, hold const& got, std::uint64_t token)
{
    asio::dispatch(part.where->strand(), [held = ownership_of(got), token] {
        held->set_token(token);
    });
}

bool follows_clock(detail::lock_group::part const& part) noexcept
{
    auto const& how = traits_of(part.id.kind);
    return part.where->settings().fencing && !how.has_redisson_tokens && !how.has_leases;
}

milliseconds votes_after(
    detail::lock_group const& of, std::size_t part, milliseconds lease
) noexcept
{
    if (auto const set = of.parts[part].where->settings().vote_after)
        return *set;
    for (auto const& each : of.parts)
        lease = std::max(lease, each.where->settings().lease);
    return lease;
}

std::string place_of(detail::lock_group::part const& part)
{
    auto const& all = part.where->settings().addresses;
    return all.empty() ? std::string{} : describe(all.front());
}

}  // namespace colock
