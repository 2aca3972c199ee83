#pragma once

#include "base/recycling.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/query.hpp"
#include "counters/permit_queue.hpp"
#include "counters/update_queue.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// How the calls of semaphores and latches enter their queues.
namespace colock {
inline namespace v0_3 {
namespace detail {

/// A number of permits has to fit Java's int.
inline constexpr std::int64_t most_permits = std::numeric_limits<std::int32_t>::max();

inline failure check_amount(
    core const& inside,
    std::string const& name,
    std::int64_t amount,
    std::int64_t least,
    std::int64_t most
) noexcept
{
    return amount >= least && amount <= most ? check_name(inside, name)
                                             : failure{error::invalid_argument};
}

/// The same for permits that a call takes, at least so many, of a semaphore that may have a limit.
/// The call would wait for more than that without end.
inline failure check_permits(
    core const& inside,
    std::string const& name,
    std::int64_t permits,
    std::int64_t least,
    std::optional<std::int64_t> limit
) noexcept
{
    if (limit && (*limit < 1 || *limit > most_permits))
        return error::invalid_argument;
    return check_amount(inside, name, permits, least, limit.value_or(most_permits));
}

/// Admits a waiter to the queue of its key, which is made if there is none.
template <class Protocol>
void enter(std::shared_ptr<waiter> const& who)
{
    auto const make = [&] {
        auto& inside = *who->inside;
        return std::make_shared<permit_queue>(
            inside, who->kind, who->name, std::make_unique<Protocol>(inside, who->name)
        );
    };
    queue_of<permit_queue>(*who, make).admit(who);
}

/// Begins an update, and reports its result as a value of this type, if any.
template <class... Values>
void start_update(
    core_ptr inside,
    asio::any_completion_handler<void(failure, Values...)> handler,
    update::request asked,
    failure wrong
)
{
    auto const& strand = inside->strand();
    auto const who = make_recycled<update>(inside, std::move(asked));
    who->listen(strand, handler);
    auto done = std::make_shared<completion<Values...>>(std::move(handler), inside->executor());
    who->done = [done](failure ec, std::int64_t result) {
        (*done)(ec, static_cast<Values>(ec ? 0 : result)...);
    };
    asio::dispatch(strand, [who, wrong] {
        if (wrong)
            who->complete(wrong, 0);
        else
            update_queue::admit(who);
    });
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
