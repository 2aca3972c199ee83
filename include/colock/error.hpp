// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <type_traits>

namespace colock {

using boost::system::error_code;

/// The errors of this library. Errors of the connection itself, from Asio, pass through unchanged.
///
/// A wait that runs out is not an error: `try_acquire_for` completes with an empty optional. A
/// cancelled operation completes with `boost::asio::error::operation_aborted`.
enum class error {
    /// The client was closed, stopped or destroyed. Remedy: after a stop, call `run()` again;
    /// otherwise make a new client.
    closed = 1,

    /// The hold is gone: its lease ran out without a renewal, or its key was deleted, forced or
    /// flushed. Remedy: stop the work that the lock protected; its writes since the loss may be too
    /// late.
    lost,

    /// There is nothing to release or extend, because the hold is empty, moved from or released.
    not_held,

    /// The key holds a value of another type. Nothing was changed. Remedy: choose another name.
    wrong_type,

    /// An argument breaks its rule: an empty or over-long name, a lease that is
    /// too short, a negative wait. Nothing was sent.
    invalid_argument,

    /// Fewer replicas than requested acknowledged the lock. It was released again.
    not_replicated,

    /// A majority of the servers could not be locked.
    no_quorum,

    /// The server refused a subscription. Waiters go on without it: they ask again when the
    /// holder's lease ends and each `config::poll_cap`.
    subscription_failed,

    /// The server refused a command: wrong password, missing permission, out of memory. The log has
    /// the server's own text. Remedy: as that text says; colock goes on trying to connect.
    server_refused,

    /// There is no connection to the server, and none came up in time. Remedy: check that the
    /// address is right and the server is up; the log says why it can't be reached.
    unavailable,

    /// The server gave an answer that the script can't give. Remedy: check that the address is a
    /// Redis or Valkey server; if it is, report a bug.
    bad_reply,

    /// The server lacks a command that the operation needs, or refuses it to the user: WAIT, for
    /// `acquire_options::sync_replicas`. Remedy: grant `+wait` to the user, or do without the
    /// option.
    unsupported,

    /// The URL's scheme is not one of those that `config::parse` lists.
    invalid_url_scheme,

    /// The URL's user or password has a `%` that no two hexadecimal digits follow.
    invalid_url_credentials,

    /// The URL names no host, or one with characters that a host cannot have.
    invalid_url_host,

    /// The URL's port is not a number from 1 to 65535.
    invalid_url_port,

    /// The URL's database is not a number from 0 to 2147483647.
    invalid_url_database,

    /// A `unix://` URL names no absolute path.
    invalid_url_path,

    /// The URL has a query option that the scheme does not know.
    invalid_url_option,

    /// A Sentinel URL names no primary.
    invalid_url_master,

    /// A file of `config::tls` can't be read or used; the log says which one, and why. Remedy:
    /// check the path, that the file is in PEM format, that the key is not encrypted, and that it
    /// belongs to the certificate.
    invalid_tls,

    /// The TLS handshake failed: one side refuses the other's certificate, or the port does not
    /// speak TLS. The log says which, and colock goes on trying to connect. Remedy: as the log
    /// says; after a repair at the server this process needs no restart.
    tls_refused,

    /// The address does not fit `config::topology`: a node of a cluster is used as a single server,
    /// or a server as a Sentinel. Remedy: correct the scheme of the URL.
    wrong_topology,

    /// The client's config breaks a rule, so the client does not connect; the log says which rule.
    /// Every operation fails with this error; `run()` fails with `invalid_argument`. Remedy:
    /// correct the config, as the log says.
    invalid_config,
};

/// The category of `error`; its name is "colock".
boost::system::error_category const& error_category() noexcept;

/// Lets an `error` convert to an `error_code`.
error_code make_error_code(error e) noexcept;

}  // namespace colock

template <>
struct boost::system::is_error_code_enum<colock::error> : std::true_type {};
