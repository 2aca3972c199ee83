#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/query.hpp"
#include "decide/names.hpp"
#include "holds/ownership.hpp"
#include "locks/lock_table.hpp"
#include "waiting/wait_queue.hpp"
#include <colock/fenced_lock.hpp>
#include <colock/lock.hpp>

#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

wait_queue* find(core& inside, lock_kind kind, std::string const& name) noexcept
{
    return static_cast<wait_queue*>(inside.keyed_states().find(colock::state_of(kind), name));
}

/// The ownership of this client; where several may have the lock, the one of this owner.
ownership* find_held(core& inside, lock_kind kind, std::string const& name, owner const& who)
{
    auto const* const queue = find(inside, kind, name);
    return queue ? queue->held(who) : nullptr;
}

/// The ownership that this owner has; none if it has none.
std::shared_ptr<ownership> held_by(
    core& inside, lock_kind kind, std::string const& name, owner const& who
)
{
    auto* const held = find_held(inside, kind, name, who);
    return held && held->who() == who && held->is_held() ? held->shared_from_this() : nullptr;
}

/// Whether the waiter would wait for its own owner.
bool waits_for_itself(lock_traits const& how, waiter const& who)
{
    if (!who.shared_owner)
        return false;
    auto held = held_by(*who.inside, how.kind, who.name, who.who);
    if (held ? who.re_entrant : who.once || !how.closed_by)
        return false;
    if (!held)
        held = held_by(*who.inside, *how.closed_by, who.name, who.who);
    if (!held)
        return false;
    held->expire(clock::now());  // after a pause of the process no timer has fired yet
    return held->is_held();
}

void admit(std::shared_ptr<waiter> const& who)
{
    auto const& how = traits_of(static_cast<lock_kind>(who->kind));
    if (waits_for_itself(how, *who))
        return who->fail(error::would_deadlock);
    auto const make = [&] { return how.make_state(*who->inside, how, who->name); };
    queue_of<wait_queue>(*who, make).admit(who);
}

template <class Handler>
std::shared_ptr<waiter> make_acquire(
    core_ptr inside, Handler handler, lock_id id, acquire_options const& options
)
{
    auto who = make_waiter(
        std::move(inside),
        std::move(handler),
        colock::state_of(id.kind),
        std::move(id.name),
        options
    );
    who->pauses = id.waits;
    return who;
}

/// Several may read at once, so a read side can't stay taken for somebody who has released it.
failure check_lock(core const& inside, lock_id const& id, acquire_options const& options) noexcept
{
    bool const is_shared = traits_of(id.kind).has_leases;
    return is_shared && options.at_least != milliseconds{0} ? failure{error::invalid_argument}
                                                            : check(inside, id, options);
}

failure read_flag(answer const& got, bool& flag) noexcept
{
    auto const& r = got.value;
    flag = r.number == 1;
    return r.what == decide::reply::kind::integer ? failure{} : failure{error::bad_reply};
}

/// Reads whether a lock of this kind is held.
query<bool>::reader locked_as(lock_kind kind)
{
    return [held = traits_of(kind).held](answer const& from, bool& locked) {
        auto const got = decide::read_inspect(from.value);
        locked = got.*held;
        return got.well_formed ? failure{} : failure{error::bad_reply};
    };
}

failure read_lease(answer const& from, std::optional<milliseconds>& lease) noexcept
{
    auto const got = decide::read_inspect(from.value);
    if (got.locked)
        lease = got.pttl < 0 ? milliseconds::max() : milliseconds{got.pttl};
    return got.well_formed ? failure{} : failure{error::bad_reply};
}

/// The lock was forced: tells the holders of this client. All locks of one name have the same key,
/// but a read-write lock is another thing, and a force of its readers leaves its writer.
void tell_taken_away(core& inside, lock_id const& id, time_point sent)
{
    auto const& forced = traits_of(id.kind);
    for (auto const& other : all_lock_traits()) {
        bool const is_hit =
            forced.is_side() == other.is_side() && (!forced.has_leases || other.kind == id.kind);
        if (auto* const queue = is_hit ? find(inside, other.kind, id.name) : nullptr)
            queue->taken_away(sent);
    }
}

/// The script that takes the lock away from its holder.
script_call::request force_request(lock_id const& id, core const& inside)
{
    auto const& prefix = inside.settings().key_prefix;
    auto const& how = traits_of(id.kind);
    script_call::request about{
        how.script.force, how.queue_keys(id.name, prefix), {how.channel(id.name, prefix)}, true};
    about.keys.insert(about.keys.begin(), id.name);
    auto const more = how.release_argument(id.name, prefix);
    if (how.tells_list())
        about.arguments.push_back(decide::wait_list(id.name, prefix));
    else
        about.arguments.push_back(more);
    about.arguments.push_back(inside.mailbox_argument(decide::slot_of(id.name)));
    if (how.is_side())
        about.arguments.push_back(more);
    if (how.is_side())
        about.arguments.emplace(about.arguments.begin(), how.side);
    return about;
}

}  // namespace

hold::clock::time_point from_now(std::chrono::nanoseconds time) noexcept
{
    auto const now = clock::now();
    auto const most = hold::clock::time_point::max() - now;
    return now + std::min<hold::clock::duration>(time, most);
}

hold::clock::time_point from_steady(hold::clock::time_point at) noexcept
{
    auto const behind = clock::suspended();
    return at > hold::clock::time_point::max() - behind ? hold::clock::time_point::max()
                                                        : at + behind;
}

using single = lock_operations<lock_id>;

void single::acquire(
    core_ptr inside, handler<acquired<hold>> handler, lock_id id, acquire_options options
)
{
    auto const wrong = check_lock(*inside, id, options);
    start(
        make_acquire(std::move(inside), std::move(handler), std::move(id), options), wrong, &admit
    );
}

void single::try_acquire_for(
    core_ptr inside,
    handler<tried<hold>> handler,
    lock_id id,
    milliseconds wait,
    acquire_options options
)
{
    auto const wrong = check_lock(*inside, id, options);
    auto const who = make_acquire(std::move(inside), std::move(handler), std::move(id), options);
    auto const negative = who->limit_to(wait);
    start(who, wrong ? wrong : negative, &admit);
}

void single::try_acquire_until(
    core_ptr inside,
    handler<tried<hold>> handler,
    lock_id id,
    time_point until,
    acquire_options options
)
{
    auto const wait = wait_until(until);
    try_acquire_for(std::move(inside), std::move(handler), std::move(id), wait, options);
}

void single::is_locked(core_ptr inside, handler<answered_bool> handler, lock_id id)
{
    auto const wrong = check_name(*inside, id.name);
    auto key = inside->key_of(std::move(id.name));
    query<bool>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        {&scripts::inspect, {std::move(key)}, {}},
        locked_as(id.kind)
    );
}

void last_token(core_ptr inside, handler<answered_token> handler, lock_id const& id)
{
    auto const wrong = check_name(*inside, id.name);
    auto counter = decide::token_counter(inside->key_of(id.name), inside->settings().key_prefix);
    query<std::uint64_t>::
        start(std::move(inside), std::move(handler), wrong, {&scripts::count, {std::move(counter)}, {}}, &read_number<std::uint64_t>);
}

void single::remaining_lease(core_ptr inside, handler<answered_lease> handler, lock_id id)
{
    auto const wrong = check_name(*inside, id.name);
    auto key = inside->key_of(std::move(id.name));
    query<std::optional<milliseconds>>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        {&scripts::inspect, {std::move(key)}, {}},
        &read_lease
    );
}

void single::force_release(core_ptr inside, handler<answered_bool> handler, lock_id id)
{
    auto const wrong = check_name(*inside, id.name);
    id.name = inside->key_of(std::move(id.name));
    auto about = force_request(id, *inside);
    auto forced = [weak = std::weak_ptr{inside},
                   id = std::move(id)](answer const& r, bool& was_locked) {
        auto ec = read_flag(r, was_locked);
        if (auto const owner = weak.lock(); owner && was_locked)
            tell_taken_away(*owner, id, r.sent);
        return ec;
    };
    query<bool>::start(
        std::move(inside), std::move(handler), wrong, std::move(about), std::move(forced)
    );
}

void single::hold_count(core_ptr inside, handler<answered_count> handler, lock_id id, owner who)
{
    auto done = std::make_shared<completion<std::int64_t>>(std::move(handler), inside->executor());
    auto const& strand = inside->strand();
    auto const wrong = check_name(*inside, id.name);
    id.name = inside->key_of(std::move(id.name));
    asio::dispatch(
        strand,
        [inside = std::move(inside), done = std::move(done), id = std::move(id), who, wrong] {
            auto const* const held = find_held(*inside, id.kind, id.name, who);
            bool const mine = held && held->who() == who;
            (*done)(wrong, mine ? static_cast<std::int64_t>(held->living_holds()) : 0);
        }
    );
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
