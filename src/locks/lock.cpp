#include "base/recycling.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/query.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "locks/exclusive_lock.hpp"
#include "locks/fair_lock.hpp"
#include "locks/read_write_lock.hpp"
#include <colock/fenced_lock.hpp>
#include <colock/lock.hpp>

#include <utility>

namespace colock::detail {

namespace {

/// The ownership of this client; for readers, the one of this owner.
ownership* find_held(core& inside, lock_ref which, owner const& who)
{
    if (which.kind == lock_kind::read) {
        auto const r = readers::find(inside, which.name);
        return r ? r->reading(who).get() : nullptr;
    }
    if (which.kind == lock_kind::fair) {
        auto const* const queue = fair_lock_state::find(inside, std::string{which.name});
        return queue ? queue->held() : nullptr;
    }
    auto const* const key = exclusive_lock::find(inside, which);
    return key ? key->held() : nullptr;
}

/// The ownership that this owner has; none if it has none.
std::shared_ptr<ownership> held_by(core& inside, lock_ref which, owner const& who)
{
    auto* const held = find_held(inside, which, who);
    return held && held->who() == who && held->is_held() ? held->shared_from_this() : nullptr;
}

/// Whether the waiter would wait for its own owner.
bool waits_for_itself(core& inside, waiter const& who)
{
    if (!who.shared_owner)
        return false;
    auto held = held_by(inside, ref_of(who.id), who.who);
    if (held ? who.re_entrant : who.once || who.id.kind != lock_kind::write)
        return false;
    if (!held)
        held = held_by(inside, {lock_kind::read, who.id.name}, who.who);
    if (!held)
        return false;
    held->expire(clock::now());  // after a pause of the process no timer has fired yet
    return held->is_held();
}

/// Admits the waiter to the queue of this lock.
void admit(core& inside, std::shared_ptr<waiter> const& who)
{
    if (waits_for_itself(inside, *who))
        return who->fail(error::would_deadlock);
    switch (who->id.kind) {
    case lock_kind::fair: return fair_lock_state::of(inside, who->id.name).admit(who);
    case lock_kind::read: return readers::at(inside, who->id.name).admit(who);
    case lock_kind::write: return writers::at(inside, who->id.name).admit(who);
    default: return exclusive_lock::at(inside, ref_of(who->id)).admit(who);
    }
}

/// Makes a waiter for the call.
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
    id.name = inside->key_of(std::move(id.name));
    auto const who =
        make_recycled<waiter>(inside, std::move(id), options, inside->settings().lease);
    who->listen(strand, handler);
    who->done = completion{std::move(handler), inside->executor()};
    asio::dispatch(strand, [who, wrong, limit] {
        core& owner = *who->inside;
        limit(*who);
        if (auto const ec = wrong ? wrong : owner.enter())
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

/// Reads whether a lock of this kind is held.
query<bool>::reader locked_as(lock_kind kind)
{
    return [kind](answer const& from, bool& locked) {
        auto const got = decide::read_inspect(from.value);
        locked = kind == lock_kind::read ? got.is_read
            : kind == lock_kind::write   ? got.is_written
                                         : got.locked;
        return got.well_formed ? error_code{} : error_code{error::bad_reply};
    };
}

error_code read_lease(answer const& from, std::optional<milliseconds>& lease) noexcept
{
    auto const got = decide::read_inspect(from.value);
    if (got.locked)
        lease = got.pttl < 0 ? milliseconds::max() : milliseconds{got.pttl};
    return got.well_formed ? error_code{} : error_code{error::bad_reply};
}

void tell_taken_away(core& inside, lock_ref which, time_point sent)
{
    if (auto* const held = find_held(inside, which, {}))
        held->taken_away(sent);
}

/// The lock was forced: tells the holders of this client. All kinds except one have the same key.
void tell_taken_away(core& inside, lock_id const& id, time_point sent)
{
    bool const reads = id.kind == lock_kind::read;
    if (reads || id.kind == lock_kind::write) {
        if (auto const r = readers::find(inside, id.name))
            r->taken_away(sent);  // for a writer: its own read side
        if (!reads)
            tell_taken_away(inside, ref_of(id), sent);
        return;
    }
    for (auto const kind : {lock_kind::plain, lock_kind::spin, lock_kind::fenced, lock_kind::fair})
        tell_taken_away(inside, lock_ref{kind, id.name}, sent);
}

/// The script that takes the lock away from its holder.
script_request force_request(lock_id const& id, std::string const& prefix)
{
    auto const& how = protocol::of(id.kind);
    script_request about{
        how.force, how.queue_keys(id.name, prefix), {how.channel(id.name, prefix)}};
    about.keys.insert(about.keys.begin(), id.name);
    if (auto const more = how.release_argument(id.name, prefix); !more.empty())
        about.arguments.push_back(more);
    if (how.is_side)
        about.arguments.insert(about.arguments.begin(), how.has_leases ? "read" : "write");
    return about;
}

}  // namespace

hold::clock::time_point from_now(std::chrono::nanoseconds time) noexcept
{
    auto const now = clock::now();
    auto const most = hold::clock::time_point::max() - now;
    return now + std::min<hold::clock::duration>(time, most);
}

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
            // Two rounds: the one under way, and its own.
            auto const& settings = who.inside->settings();
            who.wait = settings.timeout + (who.replicas ? 2 : 0) * settings.sync_timeout;
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

void single::try_acquire_until(
    core_ptr inside, handler<tried> handler, lock_id id, time_point until, acquire_options options
)
{
    auto const wait = wait_until(until);
    try_acquire_for(std::move(inside), std::move(handler), std::move(id), wait, options);
}

void single::is_locked(core_ptr inside, handler<answered_bool> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    auto key = inside->key_of(std::move(id.name));
    query<bool>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(key),
        scripts::inspect,
        {},
        locked_as(id.kind)
    );
}

void last_token(core_ptr inside, handler<answered_token> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    auto counter = decide::token_counter(id.name, inside->settings().key_prefix);
    query<std::uint64_t>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(counter),
        scripts::count,
        {},
        [](answer const& from, std::uint64_t& token) {
            token = static_cast<std::uint64_t>(from.value.number);
            bool const is_number = from.value.what == decide::reply::kind::integer;
            return is_number ? error_code{} : error_code{error::bad_reply};
        }
    );
}

void single::remaining_lease(core_ptr inside, handler<answered_lease> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    auto key = inside->key_of(std::move(id.name));
    query<std::optional<milliseconds>>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(key),
        scripts::inspect,
        {},
        &read_lease
    );
}

void single::force_release(core_ptr inside, handler<answered_bool> handler, lock_id id)
{
    auto const wrong = check_name(id.name);
    id.name = inside->key_of(std::move(id.name));
    auto about = force_request(id, inside->settings().key_prefix);
    auto forced = [weak = std::weak_ptr{inside},
                   id = std::move(id)](answer const& r, bool& was_locked) {
        auto const ec = read_flag(r, was_locked);
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
    auto const wrong = check_name(id.name);
    id.name = inside->key_of(std::move(id.name));
    asio::dispatch(
        strand,
        [inside = std::move(inside), done = std::move(done), id = std::move(id), who, wrong] {
            auto const* const held = find_held(*inside, ref_of(id), who);
            bool const mine = held && held->who() == who;
            (*done)(wrong, mine ? static_cast<std::int64_t>(held->living_holds()) : 0);
        }
    );
}

}  // namespace colock::detail
