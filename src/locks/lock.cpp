#include "decide/fair_wait.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "locks/arguments.hpp"
#include "locks/query.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include "service/fair_queue.hpp"
#include <colock/lock.hpp>

#include <utility>

namespace colock::detail {

namespace {

/// Lets the key's contention take in who waits, or its queue if that is in Redis.
void admit(core& inside, std::shared_ptr<waiter> const& who)
{
    if (who->id.kind == lock_kind::fair)
        fair_queue::of(inside, who->id.name).admit(who);
    else
        inside.key(ref_of(who->id)).admit(who);
}

/// The ownership that this client has, or nothing.
tenure* find_held(core& inside, lock_ref which)
{
    if (which.kind == lock_kind::fair) {
        auto const* const queue = fair_queue::find(inside, std::string{which.name});
        return queue ? queue->held() : nullptr;
    }
    auto const* const key = inside.find_key(which);
    return key ? key->held() : nullptr;
}

/// Makes a waiter of the call.
template <class Handler, class Limit>
void start_acquire(
    core_ptr inside,
    Handler handler,
    lock_id id,
    acquire_options const& options,
    error_code wrong,
    Limit limit
)
{
    auto const& strand = inside->strand();
    auto const who =
        std::make_shared<waiter>(inside, std::move(id), options, inside->settings().lease);
    who->listen(strand, handler);
    who->done = completion{std::move(handler), inside->executor()};
    asio::dispatch(strand, [who, wrong, limit] {
        core& owner = *who->inside;
        limit(*who);
        if (auto const ec = wrong ? wrong : owner.refusal())
            who->fail(ec);
        else
            admit(owner, who);
    });
}

error_code read_flag(answer const& got, bool& flag) noexcept
{
    auto const& r = got.value;
    flag = r.number == 1;
    return r.what == decide::reply::kind::integer ? error_code{} : error_code{error::bad_reply};
}

/// Takes the lock away, whoever has it.
question force_question(lock_id const& id)
{
    auto const channel = decide::lock_channel(id.name);
    if (id.kind != lock_kind::fair)
        return {&scripts::force, {id.name}, {channel}};
    decide::fair_keys const keys{id.name};
    return {
        &scripts::fair_force,
        {id.name, keys.queue, keys.timeouts, keys.tickets},
        {channel, std::string{decide::redisson_fair_wait}}};
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

using single = lock_operations<lock_id>;

void single::acquire(
    core_ptr inside, handler<acquired> handler, lock_id id, acquire_options options
)
{
    auto const wrong = check(id, options);
    start_acquire(
        std::move(inside), std::move(handler), std::move(id), options, wrong, [](waiter&) {}
    );
}

void single::try_acquire(
    core_ptr inside, handler<tried> handler, lock_id id, acquire_options options
)
{
    auto const wrong = check(id, options);
    start_acquire(
        std::move(inside),
        std::move(handler),
        std::move(id),
        options,
        wrong,
        [](waiter& who) {
            who.once = true;
            who.wait = who.inside->settings().timeout;
        }
    );
}

void single::try_acquire_for(
    core_ptr inside, handler<tried> handler, lock_id id, milliseconds wait, acquire_options options
)
{
    if (wait == milliseconds{0})
        return try_acquire(std::move(inside), std::move(handler), std::move(id), options);
    auto const wrong =
        wait < milliseconds{0} ? error_code{error::invalid_argument} : check(id, options);
    start_acquire(
        std::move(inside),
        std::move(handler),
        std::move(id),
        options,
        wrong,
        [wait](waiter& who) { who.wait = std::min(wait, decide::longest_lease); }
    );
}

void single::is_locked(core_ptr inside, handler<answered_bool> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    query<bool>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(id.name),
        scripts::inspect,
        {},
        &read_locked
    );
}

void single::remaining_lease(core_ptr inside, handler<answered_lease> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    query<std::optional<milliseconds>>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(id.name),
        scripts::inspect,
        {},
        &read_lease
    );
}

void single::force_release(core_ptr inside, handler<answered_bool> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    auto forced = [weak = std::weak_ptr{inside}, id](answer const& r, bool& was_locked) {
        auto const ec = read_flag(r, was_locked);
        auto const owner = weak.lock();
        // Whichever kind of this client's has the key.
        for (auto const kind :
             {lock_kind::plain, lock_kind::spin, lock_kind::fenced, lock_kind::fair})
            if (auto* const held =
                    owner && was_locked ? find_held(*owner, {kind, id.name}) : nullptr)
                held->gone(error::lost);
        return ec;
    };
    query<bool>::start(
        std::move(inside), std::move(handler), wrong, force_question(id), std::move(forced)
    );
}

void single::hold_count(core_ptr inside, handler<answered_count> handler, lock_id id, owner who)
{
    auto done = std::make_shared<completion<std::int64_t>>(std::move(handler), inside->executor());
    auto const& strand = inside->strand();
    asio::dispatch(
        strand,
        [inside = std::move(inside), done = std::move(done), id = std::move(id), who] {
            auto const wrong = check_name(id.name);
            auto const* const held = find_held(*inside, ref_of(id));
            bool const mine = held && held->who() == who;
            (*done)(wrong, mine ? static_cast<std::int64_t>(held->living_holds()) : 0);
        }
    );
}

}  // namespace colock::detail
