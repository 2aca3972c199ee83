#pragma once

#include "decide/quorum.hpp"
#include <colock/detail/failure.hpp>
#include <colock/error.hpp>
#include <colock/hold.hpp>
#include <colock/multi_lock.hpp>

#include <boost/asio/any_completion_handler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace colock {

/// Raises the counter of a part that the client has to a token, and asks how long its server has
/// been up. The counter stays if the server's clock is behind the token. Token 0: only asks.
void raise_token(detail::lock_group::part const&, hold const& got, std::uint64_t token, boost::asio::any_completion_handler<void(detail::failure, decide::raise_answer)>);

/// Renews the part now: whether it is still there shows in its hold.
void confirm_part(detail::lock_group::part const&, hold const& got);

/// The part is renewed as if it had been held since then.
void set_birth(detail::lock_group::part const&, hold const& got, decide::time_point born);

/// Owners that enter the part again get this token, which its counter has reached.
void set_token(detail::lock_group::part const&, hold const& got, std::uint64_t token);

/// Whether the part draws from a counter that follows its server's clock: only such counters can be
/// raised.
bool follows_clock(detail::lock_group::part const&) noexcept;

/// How long the server of this part has no vote after its start, for a lock of this lease.
decide::milliseconds votes_after(
    detail::lock_group const&, std::size_t part, decide::milliseconds lease
) noexcept;

/// The address of a part's server, as it is configured.
std::string place_of(detail::lock_group::part const&);

}  // namespace colock
