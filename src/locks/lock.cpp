#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "locks/query.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include <colock/lock.hpp>

#include <utility>

namespace colock::detail {

namespace {

error_code check_name(std::string const& name) noexcept
{
    bool const good = !name.empty() && name.size() <= decide::longest_name;
    return good ? error_code{} : error_code{error::invalid_argument};
}

error_code check(std::string const& name, acquire_options const& options) noexcept
{
    bool const good = !options.lease ||
        (*options.lease >= decide::shortest_lease && *options.lease <= decide::longest_lease);
    return good ? check_name(name) : error_code{error::invalid_argument};
}

/// Makes a waiter of the call, and lets the key's contention take it in.
template <class Handler, class Limit>
void start_acquire(
    core_ptr inside,
    Handler handler,
    std::string name,
    acquire_options const& options,
    error_code wrong,
    Limit limit
)
{
    auto const& strand = inside->strand();
    auto const who =
        std::make_shared<waiter>(inside, std::move(name), options, inside->settings().lease);
    who->listen(strand, handler);
    who->done = completion{std::move(handler), inside->executor()};
    asio::dispatch(strand, [who, wrong, limit] {
        core& owner = *who->inside;
        limit(*who);
        if (auto const ec = wrong ? wrong : owner.refusal())
            who->fail(ec);
        else
            owner.key(who->name).admit(who);
    });
}

error_code read_flag(answer const& got, bool& flag) noexcept
{
    auto const& r = got.value;
    flag = r.number == 1;
    return r.what == decide::reply::kind::integer ? error_code{} : error_code{error::bad_reply};
}

error_code read_locked(answer const& from, bool& locked) noexcept
{
    auto const got = decide::read_inspect(from.value);
    locked = got.locked;
    return got.well_formed ? error_code{} : error_code{error::bad_reply};
}

error_code read_lease(answer const& from, std::optional<milliseconds>& lease) noexcept
{
    auto const got = decide::read_inspect(from.value);
    if (got.locked)
        lease = got.pttl < 0 ? milliseconds::max() : milliseconds{got.pttl};
    return got.well_formed ? error_code{} : error_code{error::bad_reply};
}

}  // namespace

void lock_acquire(
    core_ptr inside, handler<acquired> handler, std::string name, acquire_options options
)
{
    auto const wrong = check(name, options);
    start_acquire(
        std::move(inside), std::move(handler), std::move(name), options, wrong, [](waiter&) {}
    );
}

void lock_try_acquire(
    core_ptr inside, handler<tried> handler, std::string name, acquire_options options
)
{
    auto const wrong = check(name, options);
    start_acquire(
        std::move(inside),
        std::move(handler),
        std::move(name),
        options,
        wrong,
        [](waiter& who) {
            who.once = true;
            who.wait = who.inside->settings().timeout;
        }
    );
}

void lock_try_acquire_for(
    core_ptr inside,
    handler<tried> handler,
    std::string name,
    milliseconds wait,
    acquire_options options
)
{
    if (wait == milliseconds{0})
        return lock_try_acquire(std::move(inside), std::move(handler), std::move(name), options);
    auto const wrong =
        wait < milliseconds{0} ? error_code{error::invalid_argument} : check(name, options);
    start_acquire(
        std::move(inside),
        std::move(handler),
        std::move(name),
        options,
        wrong,
        [wait](waiter& who) { who.wait = std::min(wait, decide::longest_lease); }
    );
}

void lock_is_locked(core_ptr inside, handler<answered_bool> handler, std::string name)
{
    auto const wrong = check_name(name);
    query<bool>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(name),
        scripts::inspect,
        {},
        &read_locked
    );
}

void lock_remaining_lease(core_ptr inside, handler<answered_lease> handler, std::string name)
{
    auto const wrong = check_name(name);
    query<std::optional<milliseconds>>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(name),
        scripts::inspect,
        {},
        &read_lease
    );
}

void lock_force_release(core_ptr inside, handler<answered_bool> handler, std::string name)
{
    auto const wrong = check_name(name);
    auto const channel = decide::lock_channel(name);
    auto forced = [weak = std::weak_ptr{inside}, name](answer const& r, bool& was_locked) {
        auto const ec = read_flag(r, was_locked);
        auto const owner = weak.lock();
        auto* const key = owner && was_locked ? owner->find_key(name) : nullptr;
        if (key && key->held())
            key->held()->gone(error::lost);
        return ec;
    };
    query<bool>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(name),
        scripts::force,
        channel,
        std::move(forced)
    );
}

void lock_hold_count(core_ptr inside, handler<answered_count> handler, std::string name, owner who)
{
    auto done = std::make_shared<completion<std::int64_t>>(std::move(handler), inside->executor());
    auto const& strand = inside->strand();
    asio::dispatch(
        strand,
        [inside = std::move(inside), done = std::move(done), name = std::move(name), who] {
            auto const wrong = check_name(name);
            auto const* const key = inside->find_key(name);
            auto const* const held = key ? key->held() : nullptr;
            bool const mine = held && held->who() == who;
            (*done)(wrong, mine ? static_cast<std::int64_t>(held->living_holds()) : 0);
        }
    );
}

}  // namespace colock::detail
