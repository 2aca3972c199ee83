// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/error.hpp>
#include <colock/log.hpp>
#include <colock/observer.hpp>

#include <boost/system/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// Where a server listens: a host and port, or a unix socket.
struct address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;

    /// The path of a unix socket; if it is not empty, host and port are not used.
    std::string unix_socket{};

    friend bool operator==(address const&, address const&) = default;
};

/// One Redis or Valkey deployment, and how its locks behave.
///
/// Plain fields; a client takes a copy and checks it in `run()`, which refuses a bad one with
/// `error::invalid_argument`.
struct config {
    using milliseconds = std::chrono::milliseconds;

    /// The server. One address for now: the first is used.
    std::vector<address> addresses{address{}};

    /// Empty: no AUTH is sent. A password without a user name is that of the user "default".
    std::string username{};
    std::string password{};
    int database = 0;

    /// The name of the connections in CLIENT LIST.
    std::string client_name = "colock";

    /// The lease of a hold that asks for none. It is renewed each third of it while the hold
    /// lives, and it is the longest that a lock outlives the process that held it. At least
    /// 100 ms. Redisson's lockWatchdogTimeout; 30 s there as well.
    milliseconds lease{30'000};

    /// Renewal ends when a hold is this old, so that work that hangs does not hold a lock for
    /// ever. None: renewed without end.
    std::optional<milliseconds> max_hold{};

    /// A hold counts as lost this long before its validity ends, so that its owner can stop before
    /// anybody else gets in. None: a tenth of the lease, from 10 ms to 1 s.
    std::optional<milliseconds> loss_margin{};

    /// The longest that a waiter sleeps before it asks the server again: what a lost message
    /// costs. At least 10 ms.
    milliseconds poll_cap{1'000};

    /// How long a subscription outlives its last waiter; up to twice that if he was handed the
    /// lock.
    milliseconds linger{1'000};

    /// How long a lock is passed on between waiters of this client, inside the process and without
    /// a command, before it is released for the waiters of other clients. 0: never passed on.
    milliseconds max_tenure{10};

    /// Once a second a release leaves the lock free for so long, for clients that poll: they find
    /// a lock for which others wait free by chance alone. At most 1 s. None: no such gap.
    std::optional<milliseconds> poller_gap{};

    /// Command connections, opened at first need; a key uses always the same one. 1 to 64.
    /// Beside them there is one for pub/sub.
    unsigned links = 2;

    /// The limit of operations that have no wait of their own. At least 1 ms.
    milliseconds timeout{2'000};

    /// How long `close()` waits for the server to confirm releases. None: `lease`.
    std::optional<milliseconds> close_timeout{};

    /// Whether holds carry a fencing token.
    bool fencing = true;

    /// Where log lines go: standard error from level warning on, unless set.
    logger log = stderr_logger();

    /// Is told what the client does. Shared, for it must live as long as the client's inside.
    std::shared_ptr<colock::observer> observer{};

    /// Reads a URL. The schemes:
    ///
    /// - `redis://[user[:password]@]host[:port][/database]` (an IPv6 host in brackets)
    /// - `unix://[user[:password]@]/path[?db=database]`
    /// - recognised, and refused with `error::unsupported`: `rediss://`, `redis+sentinel://`,
    ///   `redis+cluster://`, `rediss+sentinel://`, `rediss+cluster://`
    ///
    /// User and password are percent-decoded. The error's value says which part is bad.
    static boost::system::result<config> parse(std::string_view url);

    /// As `parse`. \throws boost::system::system_error whose text names the bad part, and no
    /// password.
    static config from_url(std::string_view url);
};

}  // namespace colock
