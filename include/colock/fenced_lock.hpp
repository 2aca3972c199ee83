// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

namespace detail {

using answered_token = void(error_code, std::uint64_t);

void last_token(core_ptr, handler<answered_token>, lock_id const&);

}  // namespace detail

/// A `lock` whose fencing tokens are Redisson's: its RFencedLock, on the same keys, so that Java
/// and C++ use one counter.
///
/// The counter is `redisson_lock_token:{name}`. Each ownership takes the next number from it;
/// re-entry keeps the token. The counter follows no clock: after a FLUSHALL, a DEL or a failover
/// that lost writes it begins lower, and repeats tokens that a resource has already seen. If no
/// Java takes part, use `lock`, whose tokens keep growing (`config::fencing`). Never use both kinds
/// in front of the same resource: their tokens can't be compared.
///
/// \par Effects
///   As `lock`, with the same scripts. A hand-over to the next waiter of this client needs a
///   script, because each token is drawn when it is needed: so Redisson's `getToken` reads the last
///   one given out. Holds have tokens whatever `config::fencing` says.
///
/// Guarantees, executor, thread-safety, lifetimes and errors are as for `lock`.
class fenced_lock : public basic_lock<detail::lock_id> {
public:
    /// The lock `name` at the client's server. Sends nothing.
    fenced_lock(client const& where, std::string name)
        : basic_lock{where, {std::move(name), detail::lock_kind::fenced}}
    {}

    /// The last token that any owner of the lock has drawn, in C++ or Java; 0 if there is no
    /// counter. Redisson's `getToken`. It may be out of date when it arrives, so it proves no
    /// ownership: for that the resource compares the tokens of the holds themselves.
    ///
    /// \par Effects
    ///   `scripts/count.lua` on the counter, one round trip.
    /// \par Completion signature
    ///   `void(error_code, std::uint64_t)`
    /// \par Errors
    ///   `error::invalid_argument` for a bad name; `error::wrong_type` if the counter's key holds
    ///   something else; `error::unavailable` after `config::timeout`; those of every operation,
    ///   see `client`.
    /// \par Cancellation
    ///   terminal, partial, total: ends the waiting.
    template <detail::token_for<detail::answered_token> Token = detail::default_token>
    auto token(Token&& token = {}) const
    {
        return detail::initiate<detail::answered_token>(
            "token", core_, &detail::last_token, std::forward<Token>(token), id_
        );
    }
};

}  // namespace v0_3
}  // namespace colock
