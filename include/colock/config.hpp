// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/durability.hpp>
#include <colock/error.hpp>
#include <colock/log.hpp>
#include <colock/observer.hpp>

#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v0_3 {

/// The place where a server listens: a host and port, or a unix socket.
struct address {
    std::string host = "127.0.0.1";  ///< a name or an IP address
    std::uint16_t port = 6379;       ///< of TCP

    /// The path of a unix socket. If it is not empty, host and port are not used.
    std::string unix_socket{};

    /// The name that the certificate of this server must have; it is also sent as SNI. If empty,
    /// `tls_options::server_name`. A node that a cluster announces has the name of the address in
    /// the config with the same host and port; others need `config::map_address`.
    std::string server_name{};

    friend bool operator==(address const&, address const&) = default;
};

/// The address for people: `host:port`, `[host]:port` of IPv6, or the path of the socket.
std::string describe(address const&);

/// The kind of deployment that the addresses belong to.
enum class topology {
    single,     ///< one server, so exactly one address
    sentinel,   ///< Sentinels, which know where the primary is now
    cluster,    ///< some nodes of a cluster, which know the others
    replicated  ///< a primary and its replicas, all of them; the one that says so is the primary
};

/// A user and a password, and how long the server accepts them.
struct credentials {
    std::string username{};  ///< empty: the config's user
    std::string password{};  ///< if both are empty, no AUTH is sent

    /// The time until they expire, counted from the call of the `credentials_handler`. None: they
    /// do not expire.
    std::optional<std::chrono::milliseconds> valid_for{};
};

/// The question to a `credentials_provider`.
struct credentials_request {
    address server;          ///< the server to log in to
    std::string username{};  ///< the user that the config names; empty: none
};

/// Takes the answer of a `credentials_provider`. If the code is set, there are no credentials now.
///
/// It may be called from any thread, also before the provider returns and after the client's end.
/// Only the first call counts.
using credentials_handler = std::function<void(error_code, credentials)>;

/// Gets the credentials for one connection: a token from a cloud's identity service, or a password
/// from a file or a vault that changes it.
///
/// \par Effects
/// The client calls it before it connects, for each connection, and again when three quarters of
/// `credentials::valid_for` are over. It then sends AUTH on the living connection. Locks stay held
/// and waiters go on waiting meanwhile.
///
/// If the server refuses that AUTH, the client asks again with a growing pause, and replaces the
/// connection shortly before the credentials expire. If the provider fails, the connection stays as
/// it is, and the client asks again.
///
/// \par Threads
/// The client calls it on its execution context, but never on its strand, and perhaps for several
/// connections at once. A provider that blocks holds up only the thread that runs it, so with a
/// context of one thread it should not block. It should keep what it got until that expires,
/// because a client has several connections.
///
/// \par Errors
/// A provider fails by an `error_code`, by an exception, or by no answer within
/// `config::connect_timeout`. The log says which, with a remedy. The client asks again after 250
/// ms, then after pauses that double. A connection is missing until then, so operations may end
/// with `error::unavailable`. The log has the message of the code, but not the text of an
/// exception, because that may contain a secret.
using credentials_provider = std::function<void(credentials_request, credentials_handler)>;

/// Says where this process reaches the server that others know by that address. A client calls it
/// on its strand. Over TLS the certificate must have the host that this returns, or its
/// `server_name`, for example the host that the others know.
///
/// \par Preconditions
///   It is quick, throws nothing, and gives the same answer each time.
using address_map = std::function<address(address const&)>;

/// How connections are encrypted, and which authorities they trust. Files are in PEM format, and
/// the client reads them when it first connects. If one can't be used, operations and `run()` fail
/// with `error::invalid_tls`.
///
/// When a file has changed, the next connection uses the new one. Connections that are up keep what
/// they began with. If a changed file can't be used, the client warns once and goes on with what it
/// has read before. The system's authorities are read once.
struct tls_options {
    bool enabled = false;  ///< whether connections are encrypted

    /// The authorities to trust. If empty, the system's authorities.
    std::string ca_file{};

    /// The client's certificate, for servers that ask for one. Set both this and the key or
    /// neither; the key must not be encrypted. Intermediate certificates may follow in the same
    /// file.
    std::string certificate_file{};
    std::string private_key_file{};  ///< of that certificate

    /// The name that each server's certificate must have; it is also sent as SNI. If empty, the
    /// host of the server's address: that of the config, or the one that the cluster or the
    /// Sentinels announce. `address::server_name` is the name for one address alone.
    std::string server_name{};

    /// If false, any certificate is accepted. That keeps eavesdroppers out, but no impostor. For
    /// tests.
    bool verify = true;
};

/// The commands by which the client publishes messages and subscribes to channels.
enum class publishing {
    automatic,  ///< as Redisson: sharded in a cluster whose servers know it, otherwise plain
    plain,      ///< PUBLISH, SUBSCRIBE
    sharded,    ///< SPUBLISH, SSUBSCRIBE: clusters of servers from 7.0 on
    both        ///< both ways, for peers of both kinds; costs a second message each time
};

/// One Redis or Valkey deployment, and how its locks behave.
///
/// Plain fields. A client takes a copy and checks it when it first connects. If a field is bad,
/// operations fail with `error::invalid_config`, and `run()` with `error::invalid_argument`; the
/// log says which field. No duration is negative, or over ten years.
struct config {
    using milliseconds = std::chrono::milliseconds;

    /// The server; or all Sentinels, of which a majority names the primary; or some nodes of the
    /// cluster, which name the others; or a primary and all its replicas.
    std::vector<address> addresses{address{}};

    /// The kind of deployment that the addresses belong to.
    colock::topology topology = topology::single;

    /// The Sentinels' name for the primary.
    std::string master_name{};

    /// Where to reach a server that Sentinels or nodes of a cluster have named: behind NAT they
    /// name addresses of their own network. None: there. Redisson's natMapper.
    address_map map_address{};

    /// The user and password for the Sentinels. If both are empty, no AUTH is sent to them,
    /// whatever the servers require.
    std::string sentinel_username{};
    std::string sentinel_password{};  ///< of that user, of the Sentinels

    /// Gets the credentials for the Sentinels. Leave `sentinel_password` empty then.
    credentials_provider sentinel_credentials{};

    /// TLS. Off, unless the URL says otherwise.
    tls_options tls{};

    /// The user and password. If both are empty, no AUTH is sent. A password without a user belongs
    /// to the user "default".
    std::string username{};
    std::string password{};  ///< of that user
    int database = 0;        ///< in a cluster of Valkey 9 or newer alone other than 0

    /// Gets the credentials for the servers, when they change while the program runs. Leave
    /// `password` empty then.
    credentials_provider credentials{};

    /// The name of the connections in CLIENT LIST: printable ASCII without spaces.
    std::string client_name = "colock";

    /// Others see this text beside the client's id, so that they know who holds a lock: in
    /// `client::inspect`, `colock info` and `colock doctor --deadlocks`. None: `host:pid`. At most
    /// 128 bytes of UTF-8 without control characters.
    ///
    /// The client keeps it in a key of its own, `<prefix>colock_client:<id>`, with what it has held
    /// or waited for longer than half a second. It writes that key for what is new, at most once a
    /// second, and every 5 s while there is any; the key ends 15 s later. Empty: it writes nothing.
    std::optional<std::string> label{};

    /// The lease of a hold that asks for none. The client renews it every third of this time while
    /// the hold lives. A lock outlives the process that held it by at most this long. At least 100
    /// ms. Redisson's lockWatchdogTimeout; 30 s there as well.
    milliseconds lease{30'000};

    /// The client stops renewing a hold that is this old, so that work that hangs does not hold a
    /// lock for ever. None: renewed without end. Not 0, nor are `warn_wait` and `warn_hold`.
    std::optional<milliseconds> max_hold{};

    /// A line in the log, at warning level, says that a call has waited this long for a lock, for
    /// permits or for a latch: the name, how long, and the holder if it is of this client. Calls
    /// that wait for one name share a line. None: no such lines.
    std::optional<milliseconds> warn_wait{};

    /// The same for a lock or a permit that is held for this long: the name, how long, and its id
    /// in Redis. A wrong value for healthy work costs lines, and nothing else.
    std::optional<milliseconds> warn_hold{};

    /// A hold counts as lost this long before its validity ends, so that its owner can stop before
    /// anybody else gets the lock. None: a tenth of the lease, but at least 10 ms and at most 1 s.
    /// In any case at most a quarter of the lease.
    std::optional<milliseconds> loss_margin{};

    /// A holder hears at once, and not at its next renewal, that its lock was deleted, forced, or
    /// has expired: the client subscribes to the keyspace events of each key that it holds, and
    /// asks the server at each one that may have taken the lock away. From about two round trips
    /// after the acquire on, a loss is then known one message and one script after it. It costs one
    /// SUBSCRIBE and one UNSUBSCRIBE a hold, and one script if the hold lives longer than these two
    /// round trips, so it is for locks that are held for long.
    ///
    /// `notify-keyspace-events` has to have `Kghx`, and an ACL user needs the channels
    /// `&__keyspace@*`; without them all is as without this field. A reader hears only of the loss
    /// of the whole lock, because each reader that leaves is an event of the same kind as one that
    /// is taken out. The field has no effect in a cluster, whose nodes do not pass these events on,
    /// and for permits.
    bool instant_notice = false;

    /// The longest time that a waiter sleeps before its client looks at the server again, and so
    /// the cost of a lost message. At least 10 ms. More than 20 s count as 20 s.
    ///
    /// For a name in whose wait list the client is the first, and while its mailbox is live,
    /// no message is lost. A client that waits for many such names looks at 5,000 of them a second
    /// at most, and at each one after 20 s at the latest. But the waiter of a lock that is deleted
    /// without a message gets in that much later.
    milliseconds poll_cap{1'000};

    /// How long a subscription to the channel of a lock, semaphore or latch outlives its last
    /// waiter. Most waits need none: a client has one mailbox for all, which stays open for a
    /// minute.
    milliseconds linger{1'000};

    /// How long the client hands a lock over from one of its waiters to the next, inside the
    /// process and without a command, before it releases the lock for the waiters of other clients.
    /// 0: no hand-over.
    milliseconds max_tenure{10};

    /// How long this client's server has no vote in a `red_lock` after its start: until no lock
    /// that it may have lost in a restart is valid any more. None: the longest lease that the red
    /// lock knows, which is its own or a `lease` of its clients. If other clients use longer
    /// leases, set the longest of them. 0: the server loses nothing in a restart, because it writes
    /// each command to disk (`appendfsync always`).
    std::optional<milliseconds> vote_after{};

    /// The maximum number of command connections to a server, 1 to 64. In a cluster each primary
    /// gets half as many, rounded up. The client opens one at first need, and more when more
    /// operations are under way. There is one more connection for pub/sub. In a cluster each
    /// primary whose locks have waiters, or are renewed, has one for pub/sub, and one more
    /// connection reads the slot map.
    unsigned links = 4;

    /// The time limit of operations that take no wait. At least 1 ms.
    milliseconds timeout{2'000};

    /// How long `close()` waits for the server to confirm releases. The client's destructor waits
    /// for the shorter of this and `timeout`. None: `lease`.
    std::optional<milliseconds> close_timeout{};

    /// How long each step of connecting may take: getting credentials, looking up the name,
    /// connecting (shared among the addresses of a name), TLS, and the set-up with AUTH. None: a
    /// third of the lease, but at least 200 ms and at most 4 s.
    std::optional<milliseconds> connect_timeout{};

    /// A server that answers nothing for this long counts as gone, as does one whose reply comes
    /// more slowly than 1 KiB in this time. None: a third of the lease, but at least 200 ms and at
    /// most 4 s.
    std::optional<milliseconds> silence_timeout{};

    /// Whether each write is sent at once (TCP_NODELAY). If false, the system may hold small
    /// packets back until earlier ones are acknowledged (Nagle's algorithm), which costs about a
    /// round trip.
    bool tcp_nodelay = true;

    /// The largest reply that the client reads, in bytes, with at most one element for each 64 of
    /// these. If a server sends more, the client drops the connection and reconnects. At least
    /// 64 KiB.
    std::size_t max_reply_size = std::size_t{64} << 20U;

    /// The copies that each step of a lock or permit must have before it counts, besides the
    /// primary's memory: the default of `acquire_options::durability`. Redisson's
    /// checkLockSyncedSlaves is like `all` of the replicas that are attached just now, at each
    /// acquire and release.
    colock::durability durability = colock::durability::none;

    /// How many replicas each primary has. None: the most that the client has seen or been told of,
    /// by the server, the Sentinels, the map of the cluster or the addresses. Set it with
    /// `durability::all`: a client that starts while a replica is away may count too few. At most
    /// 100.
    std::optional<unsigned> replicas{};

    /// How long a step waits for its copies (`durability`, `acquire_options::sync_replicas`); at
    /// most a quarter of the lease. Redisson's slavesSyncTimeout, 1 s there as well.
    milliseconds sync_timeout{1'000};

    /// Whether holds carry a fencing token.
    bool fencing = true;

    /// The commands by which messages are published. `sharded` and `both` are for clusters alone.
    publishing publish = publishing::automatic;

    /// The client puts this before each key and channel, so that applications can share a database:
    /// a lock "order:1" is the key "<prefix>order:1", its channel
    /// "<prefix>redisson_lock__channel:{<prefix>order:1}". All clients that share a lock need the
    /// same prefix, and Redisson's have none. Logs and the observer name keys with it. At most
    /// 1,000 bytes.
    std::string key_prefix{};

    /// The log. By default, warnings and errors go to standard error.
    logger log = stderr_logger();

    /// The client reports its events to it. Shared, because it must live as long as the client's
    /// state.
    std::shared_ptr<colock::observer> observer{};

    /// Parses a URL. The schemes:
    ///
    /// - `redis://[user[:password]@]host[:port][/database]` (an IPv6 host in brackets)
    /// - `unix://[user[:password]@]/path[?db=database]`
    /// - `redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/name[/database]`: the
    ///   Sentinels (default port 26379) and their name for the primary
    /// - `redis+cluster://[user[:password]@]host[:port][,host[:port]...][/database]`: some of the
    ///   nodes of a cluster
    /// - `redis+replicated://[user[:password]@]host[:port][,host[:port]...][/database]`: a primary
    ///   and its replicas, in any order. The client connects to the first that is a primary. When
    ///   it loses that one, it tries it once more, and then the others in turn. Nobody but you sees
    ///   to it that there is one primary at most: with two, two clients may hold the same lock
    /// - `rediss://`, `rediss+sentinel://` and so on: the same over TLS, with the authorities of
    ///   the system unless `tls` says otherwise
    ///
    /// User and password are percent-decoded. The error code says which part is bad.
    static boost::system::result<config> parse(std::string_view url);

    /// As `parse`. \throws boost::system::system_error with a text that names the bad part and no
    /// password.
    static config from_url(std::string_view url);
};

}  // namespace v0_3
}  // namespace colock
