// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>
#include <colock/semaphore.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {

/// One permit of a `permit_semaphore`, while it is held. It is empty, moved and destroyed as a
/// `hold` is, and the base class has what all holds share. It has no fencing token, because several
/// owners hold the name at once. `extend` is Redisson's updateLeaseTime.
class [[nodiscard]] permit : public basic_hold {
public:
    /// Empty.
    permit() noexcept = default;

    /// The permit's name in Redis, 32 hexadecimal digits as Redisson writes them. Any program that
    /// knows it can release the permit there. Empty if the permit is default-constructed or moved
    /// from.
    std::string const& id() const noexcept { return id_; }

    /// For the library only: makes the result of an acquire.
    permit(detail::hold_ptr state, std::string id) noexcept
        : basic_hold{std::move(state)}
        , id_{std::move(id)}
    {}

private:
    std::string id_;
};

/// Several permits: a `std::vector`. Its destructor gives them back, so keep it; clang warns of a
/// result that is dropped.
class [[nodiscard]] permit_list : public std::vector<permit> {
public:
    using std::vector<permit>::vector;
};

namespace detail {

using finished = void(error_code);
using answered_bool = void(error_code, bool);
using answered_count = void(error_code, std::int64_t);
using permitted = void(error_code, permit);
using tried_permit = void(error_code, if_acquired<permit>);
using permitted_many = void(error_code, permit_list);

/// One id or several.
struct permit_ids {
    permit_ids(char const* id) : all{id} {}
    permit_ids(std::string id) : all{std::move(id)} {}
    permit_ids(std::vector<std::string> several) : all{std::move(several)} {}
    permit_ids(std::initializer_list<std::string> several) : all{several} {}

    std::vector<std::string> all;
};

void permit_acquire(
    core_ptr, handler<permitted>, std::string, std::optional<std::int64_t> limit, acquire_options
);
void permit_try_acquire_for(
    core_ptr,
    handler<tried_permit>,
    std::string,
    std::optional<std::int64_t> limit,
    std::chrono::milliseconds wait,
    acquire_options
);
void permit_acquire_many(
    core_ptr,
    handler<permitted_many>,
    std::string,
    std::optional<std::int64_t> limit,
    std::int64_t permits,
    acquire_options
);
void permit_try_acquire_many_for(
    core_ptr,
    handler<permitted_many>,
    std::string,
    std::optional<std::int64_t> limit,
    std::chrono::milliseconds wait,
    std::int64_t permits,
    acquire_options
);
void permit_return(
    core_ptr, handler<answered_bool>, std::string, std::vector<std::string> const& ids
);
void permit_extend(
    core_ptr,
    handler<answered_bool>,
    std::string,
    std::string const& id,
    std::chrono::milliseconds lease
);
void permit_remove(core_ptr, handler<answered_bool>, std::string name);

void permit_change(core_ptr, handler<finished>, std::string, std::int64_t permits);
enum class permits_counted { available, out, all };
void permit_count(core_ptr, handler<answered_count>, std::string, permits_counted);

}  // namespace detail

/// A fixed number of permits that all processes share. Each permit has an id and its own lease:
/// Redisson's RPermitExpirableSemaphore, on the same keys and channel.
///
/// In Redis it is a number `name`, the permits that are left, and a sorted set `{name}:timeout`
/// with the ids that are out, sorted by the end of their leases. A release publishes the new number
/// on `redisson_sc:{name}`.
///
/// \par Guarantees
///   While the holders run, there are never more permits out than were set. The client renews a
///   permit while it is held, unless the caller gave a lease. If renewals fail, it tells the
///   holder before anybody else can get the permit; see `hold`. The permits of a dead process come
///   back within one lease, as soon as somebody asks. Leases go by the server's clock; Redisson's
///   clients judge them by their own clocks.
/// \par Copies
///   A permit has those of `acquire_options::durability`, as a lock has. Operations by its id,
///   and those on the number of permits, go by `config::durability`.
/// \par Executor, thread-safety, lifetimes
///   As for every handle; see `client`.
class permit_semaphore {
public:
    using milliseconds = std::chrono::milliseconds;
    using hold_type = permit;  ///< what `with_lock` gives to its work

    /// The semaphore `name` at the client's server. Sends nothing. A name has 1 to 10,000 bytes of
    /// any kind; a part in braces decides its slot, as in Redis.
    permit_semaphore(client const& where, std::string name)
        : core_{where.core_}
        , name_{std::move(name)}
    {}

    /// The same, with `limit` permits if nobody has set it: the first acquire makes it, in the same
    /// round trip. So nobody has to call `try_set_permits`, and a semaphore that is lost is set
    /// again. Permits whose leases are still there count among them.
    ///
    /// A semaphore that exists wins. If it has more permits or fewer, a warning in the log says so
    /// once.
    ///
    /// \par Errors
    ///   The limit is 1 to 2^31-1. With another, each acquire ends with `error::invalid_argument`,
    ///   and so does one that wants more permits than the limit. Nothing is sent.
    permit_semaphore(client const& where, std::string name, std::int64_t limit)
        : core_{where.core_}
        , name_{std::move(name)}
        , limit_{limit}
    {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return name_; }

    /// As it was given, if it was.
    std::optional<std::int64_t> limit() const noexcept { return limit_; }

    /// Makes the semaphore with this number of permits, unless it exists. The result says whether
    /// it was made. With a time, `try_set_permits(5, 1h)`, it ends after that, with all its
    /// permits: for names that come and go. A permit that is out then is lost at its next renewal.
    ///
    /// \par Effects
    ///   `scripts/semaphore_set.lua`, one round trip. A message tells the waiters.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a number below 0 or over 2^31-1,
    ///     or a time under 1 ms or over ten years. Nothing was sent.
    ///   - those of every operation; see `client`.
    ///   - `error::unavailable` — no answer within `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the request may still take effect.
    template <class Life = detail::lifetime, class Token = detail::default_token>
        requires detail::call_for<Life, Token, detail::lifetime, detail::answered_bool>
    auto try_set_permits(std::int64_t permits, Life&& life = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::answered_bool, detail::lifetime>(
            "try_set_permits",
            core_,
            &detail::semaphore_set,
            std::forward<Life>(life),
            std::forward<Token>(token),
            name_,
            permits
        );
    }

    /// Takes one permit. Waits until there is one.
    ///
    /// If the semaphore does not exist and has no limit, the call waits until somebody sets it. A
    /// warning in the log and `events::no_permits_set` say so, once a wait.
    ///
    /// \par Effects
    ///   `scripts/permit_acquire.lua`, one round trip if there is one. If not, the same
    ///   script puts the client into a wait list at the server. After that the client tries when a
    ///   release has told it by its mailbox, when the next lease ends, and each `config::poll_cap`.
    ///   The first of the list listens to the semaphore's channel, too, where Redisson tells of
    ///   permits. The waiters of one client form one queue, first come first served, and only the
    ///   head of the queue asks the server. There is no re-entry: each call takes a permit, and
    ///   `acquire_options::as` is only what `permit::as` returns.
    /// \par Guarantees
    ///   The permit's validity is counted from before the client sent the script, and at least half
    ///   of it is left.
    /// \par Completion signature
    ///   `void(error_code, permit)`; the permit is empty if and only if there is an error.
    /// \par Completes when
    ///   The permit is held, or one of the errors. While no connection is up, it waits.
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a lease under 10 ms or over ten
    ///     years, `acquire_options::at_least`. Nothing was sent.
    ///   - `error::wrong_type` — the keys do not hold such a semaphore.
    ///   - those of every operation; see `client`.
    /// \par Cancellation
    ///   terminal, partial, total. Completes at once with `operation_aborted` and leaves nothing
    ///   behind: if the server still grants a permit, it goes to the next waiter or is released in
    ///   the background.
    template <class Options = acquire_options, class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, detail::permitted>
    auto acquire(Options&& options = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::permitted, acquire_options>(
            "acquire",
            core_,
            &detail::permit_acquire,
            std::forward<Options>(options),
            std::forward<Token>(token),
            name_,
            limit_
        );
    }

    /// Tries once. Empty if there is no permit, or if this client already has waiters.
    ///
    /// \par Effects
    ///   `scripts/permit_acquire.lua`, one round trip.
    /// \par Completion signature
    ///   `void(error_code, if_acquired<permit>)`
    /// \par Errors
    ///   As `acquire`, and `error::unavailable` after `config::timeout`.
    /// \par Cancellation
    ///   As `acquire`.
    template <class Options = acquire_options, class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, detail::tried_permit>
    auto try_acquire(Options&& options = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::tried_permit, acquire_options>(
            "try_acquire",
            core_,
            &detail::permit_try_acquire_for,
            std::forward<Options>(options),
            std::forward<Token>(token),
            name_,
            limit_,
            milliseconds{0}
        );
    }

    /// Takes one permit, and waits at most `wait` for it. Zero tries once. Empty if the wait ran
    /// out.
    ///
    /// \par Effects
    ///   As `acquire`. The limit counts from the call and includes connecting. It also holds while
    ///   the server is silent.
    /// \par Completion signature
    ///   `void(error_code, if_acquired<permit>)`
    /// \par Errors
    ///   As `acquire`, and `error::invalid_argument` for a negative wait. If the server has not
    ///   said in the wait that too few are left: `error::unavailable` at the end of the wait. Zero:
    ///   as `try_acquire`.
    /// \par Cancellation
    ///   As `acquire`.
    template <
        class Rep,
        class Period,
        class Options = acquire_options,
        class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, detail::tried_permit>
    auto try_acquire_for(
        std::chrono::duration<Rep, Period> wait, Options&& options = {}, Token&& token = {}
    ) const
    {
        return detail::initiate_call<detail::tried_permit, acquire_options>(
            "try_acquire_for",
            core_,
            &detail::permit_try_acquire_for,
            std::forward<Options>(options),
            std::forward<Token>(token),
            name_,
            limit_,
            detail::round_up<milliseconds>(wait)
        );
    }

    /// Takes several permits in one step, all of them or none. Waits until there are enough. Two
    /// tasks that take their permits so cannot deadlock on each other.
    ///
    /// \par Effects
    ///   As `acquire`. Each permit has its own id and is a hold of its own: it is renewed, lost,
    ///   extended and released by itself. In the queue of a client nobody passes a waiter for many
    ///   permits.
    /// \par Guarantees
    ///   As `acquire`, for each permit.
    /// \par Completion signature
    ///   `void(error_code, permit_list)`; as many permits as were asked for, or none and an
    ///   error.
    /// \par Errors
    ///   As `acquire`, and `error::invalid_argument` for a number below 1, over 1,000 or over the
    ///   limit.
    /// \par Cancellation
    ///   As `acquire`.
    template <class Options = acquire_options, class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, detail::permitted_many>
    auto acquire_many(std::int64_t permits, Options&& options = {}, Token&& token = {}) const
    {
        return detail::initiate_call<detail::permitted_many, acquire_options>(
            "acquire_many",
            core_,
            &detail::permit_acquire_many,
            std::forward<Options>(options),
            std::forward<Token>(token),
            name_,
            limit_,
            permits
        );
    }

    /// Takes several permits in one step, and waits at most `wait` for them. Zero tries once. None
    /// if the wait ran out.
    ///
    /// \par Effects
    ///   As `acquire_many`. The limit counts from the call and includes connecting. It also holds
    ///   while the server is silent.
    /// \par Completion signature
    ///   `void(error_code, permit_list)`; as many permits as were asked for, or none.
    /// \par Errors
    ///   As `acquire_many`, and `error::invalid_argument` for a negative wait. If the server has
    ///   not said in the wait that too few are left: `error::unavailable` at the end of the wait;
    ///   of zero, after `config::timeout`.
    /// \par Cancellation
    ///   As `acquire`.
    template <
        class Rep,
        class Period,
        class Options = acquire_options,
        class Token = detail::default_token>
        requires detail::call_for<Options, Token, acquire_options, detail::permitted_many>
    auto try_acquire_many_for(
        std::chrono::duration<Rep, Period> wait,
        std::int64_t permits,
        Options&& options = {},
        Token&& token = {}
    ) const
    {
        return detail::initiate_call<detail::permitted_many, acquire_options>(
            "try_acquire_many_for",
            core_,
            &detail::permit_try_acquire_many_for,
            std::forward<Options>(options),
            std::forward<Token>(token),
            name_,
            limit_,
            detail::round_up<milliseconds>(wait),
            permits
        );
    }

    /// Gives back permits whose ids one knows, wherever they were acquired: one id, or several in a
    /// vector or in braces. All of them, or none if one of them is not out any more; the result
    /// says which. Redisson's `release(permitIds)`.
    ///
    /// Release the permits of this program by `permit::release`. A `permit` that is released by its
    /// id counts as held until its next renewal, which says that it is lost.
    ///
    /// \par Effects
    ///   `scripts/permit_return.lua`, one round trip. After a lost connection the client sends it
    ///   again. It takes effect once, and the result is that of the first time.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, no id or over 1,000, an id
    ///   twice,
    ///     or one that is not 32 hexadecimal digits in lower case. Nothing was sent.
    ///   - `error::wrong_type` — the keys do not hold such a semaphore.
    ///   - `error::server_refused` — the server refuses us; its text is in the log.
    ///   - `error::closed` — the client was closed or stopped.
    ///   - `error::unavailable` — no answer within `config::timeout`. The release then goes on in
    ///     the background until the server answers or the client stops.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the release goes on.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto release(detail::permit_ids ids, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "release",
            core_,
            &detail::permit_return,
            std::forward<Token>(token),
            name_,
            std::move(ids.all)
        );
    }

    /// Sets the rest of the lease of a permit whose id one knows, from now on. The result says
    /// whether it was out. Redisson's `updateLeaseTime`.
    ///
    /// If a program holds the permit and renews it, its next renewal sets that program's lease
    /// again.
    ///
    /// \par Effects
    ///   `scripts/permit_extend.lua`, one round trip. After a lost connection the client sends it
    ///   again, and the lease counts from then.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors
    ///   - `error::invalid_argument` — an empty or over-long name, a lease under 10 ms or over ten
    ///     years, or an id that is not 32 hexadecimal digits in lower case. Nothing was sent.
    ///   - `error::wrong_type`, `error::server_refused`, `error::closed`; `error::unavailable`
    ///     after `config::timeout`.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the request may still take effect.
    template <
        class Rep,
        class Period,
        detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto extend(std::string id, std::chrono::duration<Rep, Period> lease, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "extend",
            core_,
            &detail::permit_extend,
            std::forward<Token>(token),
            name_,
            std::move(id),
            detail::round_up<milliseconds>(lease)
        );
    }

    /// Sets how many permits there are, those that are out among them. Makes the semaphore if it
    /// does not exist. If more are out than there shall be, `available` is negative until enough
    /// have come back. Redisson's `setPermits`.
    ///
    /// \par Effects
    ///   `scripts/permit_set.lua`, one round trip. A message tells the waiters of new permits. It
    ///   takes effect once, even if it has to be sent again.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors and cancellation
    ///   As `try_set_permits`, and `error::wrong_type`.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto set_permits(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            "set_permits", core_, &detail::permit_change, std::forward<Token>(token), name_, permits
        );
    }

    /// Gives the semaphore more permits, or with a negative number fewer. If more are out than
    /// there are then, `available` is negative until enough have come back. Makes the semaphore if
    /// it does not exist. Zero changes nothing, and nothing is sent.
    ///
    /// \par Effects
    ///   `scripts/semaphore_release.lua`, one round trip. A message tells the waiters. It takes
    ///   effect once; after a lost connection the client sends it again.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Errors
    ///   As `set_permits`; the number may be from -(2^31-1) to 2^31-1. After `error::unavailable`
    ///   the change goes on in the background until the server answers or the client stops.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answer; the change goes on.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto add_permits(std::int64_t permits, Token&& token = {}) const
    {
        return detail::initiate<detail::finished>(
            "add_permits",
            core_,
            &detail::semaphore_change,
            std::forward<Token>(token),
            name_,
            detail::permits_change::add,
            permits
        );
    }

    /// Removes the semaphore, with the permits that are out: their holders lose them at the next
    /// renewal. Waiters go on waiting until somebody sets it again. The result says whether it was
    /// there. Redisson's `delete`.
    ///
    /// \par Effects
    ///   `scripts/permit_remove.lua`, one round trip. It takes effect once, even if it has to be
    ///   sent again.
    /// \par Completion signature
    ///   `void(error_code, bool)`
    /// \par Errors and cancellation
    ///   As `try_set_permits`, and `error::wrong_type`; the keys then stay as they are.
    template <detail::token_for<detail::answered_bool> Token = detail::default_token>
    auto remove(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_bool>(
            "remove", core_, &detail::permit_remove, std::forward<Token>(token), name_
        );
    }

    /// How many permits are available: those that are left, and those whose lease has ended. None
    /// before the first acquire makes the semaphore.
    ///
    /// \par Effects
    ///   `scripts/permit_count.lua`, one round trip. The answer may be out of date when it arrives.
    /// \par Completion signature
    ///   `void(error_code, std::int64_t)`
    /// \par Errors
    ///   `error::invalid_argument` and `error::wrong_type`, as for `acquire`; `error::unavailable`
    ///   after `config::timeout`; those of every operation, see `client`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait.
    template <detail::token_for<detail::answered_count> Token = detail::default_token>
    auto available(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "available",
            core_,
            &detail::permit_count,
            std::forward<Token>(token),
            name_,
            detail::permits_counted::available
        );
    }

    /// How many permits are out, by leases that have not ended. Redisson's `acquiredPermits`.
    ///
    /// \par Effects, completion signature, errors and cancellation
    ///   As `available`.
    template <detail::token_for<detail::answered_count> Token = detail::default_token>
    auto acquired(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "acquired",
            core_,
            &detail::permit_count,
            std::forward<Token>(token),
            name_,
            detail::permits_counted::out
        );
    }

    /// How many permits there are: those that are available, and those that are out. Redisson's
    /// `getPermits`.
    ///
    /// \par Effects, completion signature, errors and cancellation
    ///   As `available`.
    template <detail::token_for<detail::answered_count> Token = detail::default_token>
    auto permits(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_count>(
            "permits",
            core_,
            &detail::permit_count,
            std::forward<Token>(token),
            name_,
            detail::permits_counted::all
        );
    }

private:
    detail::client_share core_;
    std::string name_;
    std::optional<std::int64_t> limit_{};
};

}  // namespace v0_3
}  // namespace colock
