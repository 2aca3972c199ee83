// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/error.hpp>
#include <colock/log.hpp>
#include <colock/observer.hpp>

#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// Where a server listens: a host and port, or a unix socket.
struct address {
    std::string host = "127.0.0.1";  ///< a name or an IP address
    std::uint16_t port = 6379;       ///< of TCP

    /// The path of a unix socket; if it is not empty, host and port are not used.
    std::string unix_socket{};

    friend bool operator==(address const&, address const&) = default;
};

/// What the addresses are those of.
enum class topology {
    single,    ///< one server; the first address is used
    sentinel,  ///< Sentinels, which know where the primary is now
    cluster    ///< some nodes of a cluster, which know the others
};

/// How connections are encrypted, and whom they trust. Files are in PEM format and are read when
/// the client first connects; operations and `run()` fail with `error::invalid_tls` if one can't be
/// used.
struct tls_options {
    bool enabled = false;  ///< whether connections are encrypted

    /// The authorities to trust. Empty: those of the system.
    std::string ca_file{};

    /// What the client shows to servers that ask for it. Both or neither; the key must not be
    /// encrypted. Certificates between it and the authority may follow it in its file.
    std::string certificate_file{};
    std::string private_key_file{};  ///< of that certificate

    /// The name that the server's certificate must have, and that is sent as SNI. Empty: the host
    /// of the address; with Sentinels it has to be set, for they name servers by IP addresses.
    std::string server_name{};

    /// False: any certificate will do, which keeps listeners out and nobody else. For tests.
    bool verify = true;
};

/// By which command messages are published, and channels subscribed.
enum class publishing {
    automatic,  ///< as Redisson: sharded in a cluster whose servers know it, else plain
    plain,      ///< PUBLISH, SUBSCRIBE
    sharded,    ///< SPUBLISH, SSUBSCRIBE: clusters of servers from 7.0 on
    both        ///< both of both: beside peers of either habit, for a second message each time
};

/// One Redis or Valkey deployment, and how its locks behave.
///
/// Plain fields; a client takes a copy and checks it when it first connects. A bad one fails
/// operations with `error::invalid_config`, and `run()` with `error::invalid_argument`.
struct config {
    using milliseconds = std::chrono::milliseconds;

    /// The server, or some Sentinels or nodes of the cluster: they are asked in this order, and
    /// name the others.
    std::vector<address> addresses{address{}};

    /// What the addresses are those of.
    colock::topology topology = topology::single;

    /// What the Sentinels call the primary.
    std::string master_name{};

    /// For the Sentinels. Empty: no AUTH is sent to them, whatever the servers want.
    std::string sentinel_username{};
    std::string sentinel_password{};  ///< of that user, of the Sentinels

    /// Off, unless the URL says otherwise.
    tls_options tls{};

    /// Empty: no AUTH is sent. A password without a user name is that of the user "default".
    std::string username{};
    std::string password{};  ///< of that user
    int database = 0;        ///< 0 in a cluster

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
    /// lock. Where many clients wait it ends with its last waiter.
    milliseconds linger{1'000};

    /// How long a lock is passed on between waiters of this client, inside the process and without
    /// a command, before it is released for the waiters of other clients. 0: never passed on.
    milliseconds max_tenure{10};

    /// Once a second a release leaves the lock free for so long, for clients that poll: they find
    /// a lock for which others wait free by chance alone. At most 1 s. None: no such gap.
    std::optional<milliseconds> poller_gap{};

    /// The most command connections to a server, 1 to 64. One is opened at first need, and more as
    /// more is under way. Beside them there is one for pub/sub.
    unsigned links = 4;

    /// The limit of operations that have no wait of their own. At least 1 ms.
    milliseconds timeout{2'000};

    /// How long `close()` waits for the server to confirm releases; the client's destructor does no
    /// longer than this or `timeout`. None: `lease`.
    std::optional<milliseconds> close_timeout{};

    /// How long each step of the way to a connection may take: looking up the name, connecting
    /// (shared among the addresses of a name), TLS, the set-up with AUTH. None: two sixths of the
    /// lease, from 200 ms to 4 s.
    std::optional<milliseconds> connect_timeout{};

    /// A server that answers nothing for so long counts as gone. None: a third of the lease, from
    /// 200 ms to 4 s.
    std::optional<milliseconds> silence_timeout{};

    /// Whether each write leaves at once (TCP_NODELAY). False lets the system hold small packets
    /// back until earlier ones are acknowledged (Nagle's algorithm), which costs about a round
    /// trip.
    bool tcp_nodelay = true;

    /// The largest reply in bytes that is read. A server that sends more is cut off, and the
    /// connection is made anew. At least 64 KiB.
    std::size_t max_reply_size = std::size_t{64} << 20U;

    /// How long `acquire_options::sync_replicas` waits for the replicas. Redisson's
    /// slavesSyncTimeout, 1 s there as well.
    milliseconds sync_timeout{1'000};

    /// Whether holds carry a fencing token.
    bool fencing = true;

    /// By which command messages are published.
    publishing publish = publishing::automatic;

    /// Stands before each key and channel at the server, for those who have to share a database: a
    /// lock "order:1" is the key "<prefix>order:1", its channel
    /// "<prefix>redisson_lock__channel:{<prefix>order:1}". All who share the lock need the same
    /// one, and Redisson's have none. Logs and the observer name keys with it. At most 1,000 bytes.
    std::string key_prefix{};

    /// Where log lines go: standard error from level warning on, unless set.
    logger log = stderr_logger();

    /// Is told what the client does. Shared, for it must live as long as the client's inside.
    std::shared_ptr<colock::observer> observer{};

    /// Reads a URL. The schemes:
    ///
    /// - `redis://[user[:password]@]host[:port][/database]` (an IPv6 host in brackets)
    /// - `unix://[user[:password]@]/path[?db=database]`
    /// - `redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/name[/database]`: the
    ///   Sentinels, 26379 unless said otherwise, and what they call the primary
    /// - `redis+cluster://[user[:password]@]host[:port][,host[:port]...]`: some of the nodes
    /// - `rediss://`, `rediss+sentinel://`, `rediss+cluster://`: the same over TLS, with the
    ///   authorities of the system unless `tls` says otherwise
    ///
    /// User and password are percent-decoded. The error's value says which part is bad.
    static boost::system::result<config> parse(std::string_view url);

    /// As `parse`. \throws boost::system::system_error whose text names the bad part, and no
    /// password.
    static config from_url(std::string_view url);
};

}  // namespace colock
