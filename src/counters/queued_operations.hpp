#pragma once

#include "base/recycling.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
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

/// Tries once, within `config::timeout`.
inline void try_once(permit_request& who)
{
    who.once = true;
    who.wait = who.inside->settings().timeout;
}

/// Waits this long; zero tries once. A negative wait is an error.
inline error_code limit_wait(permit_request& who, milliseconds wait)
{
    if (wait == milliseconds{0})
        try_once(who);
    else
        who.wait = std::min(wait, decide::longest_lease);
    return valid_if(wait >= milliseconds{0});
}

/// Puts a request into the queue of its key, which is made if there is none. `kind` tells apart
/// the queues of one name.
template <class Protocol>
void enter(std::shared_ptr<permit_request> const& who, state_kind kind, error_code wrong)
{
    asio::dispatch(who->inside->strand(), [who, kind, wrong] {
        core& owner = *who->inside;
        if (auto const ec = wrong ? wrong : owner.enter()) {
            who->complete(ec);
            return;
        }
        auto const make = [&] {
            return std::make_shared<permit_queue>(
                owner, kind, who->name, std::make_unique<Protocol>(owner, who->name)
            );
        };
        find_or_make<permit_queue>(owner.keyed_states(), kind, who->name, make).admit(who);
    });
}

/// Makes a request that is told no more than whether it was granted.
template <class... Values>
std::shared_ptr<permit_count_request> make_permit_count_request(
    core_ptr inside,
    asio::any_completion_handler<void(error_code, Values...)> handler,
    std::string name,
    std::int64_t wanted
)
{
    auto key = inside->key_of(std::move(name));
    auto who = make_recycled<permit_count_request>(std::move(inside), std::move(key), wanted);
    who->listen(who->inside->strand(), handler);
    who->done = completion<Values...>{std::move(handler), who->inside->executor()};
    return who;
}

/// Reads a number from the server's answer.
inline error_code read_count(answer const& got, std::int64_t& count) noexcept
{
    count = got.value.number;
    return got.value.what == decide::reply::kind::integer ? error_code{}
                                                          : error_code{error::bad_reply};
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
        if (auto const ec = wrong ? wrong : owner.enter()) {
            who->complete(ec, 0);
            return;
        }
        auto const make = [&] { return std::make_shared<update_queue>(owner, who->name); };
        find_or_make<update_queue>(owner.keyed_states(), state_kind::updates, who->name, make)
            .add(who);
    });
}

}  // namespace colock::detail
