#pragma once

#include "base/recycling.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/query.hpp"
#include "counters/permit_queue.hpp"
#include "counters/update_queue.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

// How the calls of semaphores and latches enter their queues.
namespace colock::detail {

/// A number of permits has to fit Java's int.
inline constexpr std::int64_t most_permits = std::numeric_limits<std::int32_t>::max();

inline error_code check_amount(
    std::string const& name, std::int64_t amount, std::int64_t least, std::int64_t most
) noexcept
{
    return valid_if(amount >= least && amount <= most && !check_name(name));
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

/// An update to make at the server.
struct update_request {
    std::string name;
    scripts::script const& what;
    std::int64_t amount;
    std::string (*channel)(std::string_view name, std::string_view prefix);  ///< or none
    bool owed;                ///< it goes on even without a caller
    std::string text{};       ///< the script's first argument, if it is not the amount
    bool has_leases = false;  ///< the script has the leases of permits as its third key
};

/// Begins an update, and reports its result as a value of this type, if any.
template <class... Values>
void start_update(
    core_ptr inside,
    asio::any_completion_handler<void(error_code, Values...)> handler,
    update_request asked,
    error_code wrong
)
{
    auto const& strand = inside->strand();
    auto key = inside->key_of(std::move(asked.name));
    auto channel =
        asked.channel ? asked.channel(key, inside->settings().key_prefix) : std::string{};
    auto const who =
        make_recycled<update>(inside, std::move(key), asked.what, asked.amount, std::move(channel));
    who->owed = asked.owed;
    who->text = std::move(asked.text);
    if (asked.has_leases)
        who->third_key = decide::permit_leases(who->name, inside->settings().key_prefix);
    who->listen(strand, handler);
    auto done = std::make_shared<completion<Values...>>(std::move(handler), inside->executor());
    who->done = [done](error_code ec, std::int64_t result) {
        (*done)(ec, static_cast<Values>(ec ? 0 : result)...);
    };
    asio::dispatch(strand, [who, wrong] {
        core& owner = *who->inside;
        // A closing client still gives back.
        bool const is_let_in = who->owed && owner.is_closing();
        if (wrong) {
            who->complete(wrong, 0);
            return;
        }
        if (auto const ec = is_let_in ? error_code{} : owner.enter()) {
            who->refuse(ec);
            return;
        }
        auto const make = [&] { return std::make_shared<update_queue>(owner, who->name); };
        find_or_make<update_queue>(owner.keyed_states(), state_kind::updates, who->name, make)
            .add(who);
    });
}

}  // namespace colock::detail
