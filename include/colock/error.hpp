// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <type_traits>

namespace colock {

using boost::system::error_code;

/// What can go wrong, beside the transport's own errors, which pass through as they are.
///
/// A wait that ran out is no error: `try_acquire_for` completes with an empty optional. A
/// cancelled operation completes with `boost::asio::error::operation_aborted`.
enum class error {
    /// The client was closed, stopped or destroyed. Remedy: none for this client; a stopped one
    /// serves again after another `run()`.
    closed = 1,

    /// The hold is gone: its lease ran out unrenewed, its key was deleted, forced or flushed.
    /// Remedy: stop the work that the lock protected; what it has written since counts as late.
    lost,

    /// There is nothing to release or extend: the hold is empty, moved from or released.
    not_held,

    /// The key holds a value that is no lock. Remedy: choose another name; nothing was changed.
    wrong_type,

    /// An argument breaks its rule: an empty or over-long name, a lease that is
    /// too short, a negative wait. Nothing was sent.
    invalid_argument,

    /// Fewer replicas than asked for have acknowledged the lock. It was released again.
    not_replicated,

    /// A majority of the servers could not be locked.
    no_quorum,

    /// The server refused a subscription. Waiting goes on by lease and poll cap.
    subscription_failed,

    /// The server refused a command: wrong password, missing permission, out of memory. Its own
    /// text is in the log. Remedy: the text says which; colock goes on trying to connect.
    server_refused,

    /// There is no connection to Redis, and none came up in time. Remedy: check that the address is
    /// right and the server is up; the log says why it can't be reached.
    unavailable,

    /// The server answered something that the script can't answer. Remedy: check that the address
    /// is that of a Redis or Valkey server, and report it.
    bad_reply,

    /// The server lacks, or refuses the user, a command that is needed for what was asked: WAIT,
    /// for
    /// `acquire_options::sync_replicas`. Remedy: `+wait` for the user, or without the option.
    unsupported,

    /// The URL's scheme is none of those in `config::from_url`.
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

    /// A file of `config::tls` can't be read or used; the log says which, and why. Remedy: check
    /// the path, that it is in PEM format, that the key is not encrypted and belongs to the
    /// certificate.
    invalid_tls,

    /// TLS came to nothing: one side refuses the other's certificate, or the port speaks no TLS.
    /// The log says which, and colock goes on trying to connect. Remedy: as the log says; what is
    /// mended at the server needs no restart here.
    tls_refused,

    /// The address is of another kind than `config::topology`: a node of a cluster taken for a
    /// single server, a server taken for a Sentinel. Remedy: the scheme in the URL.
    wrong_topology,

    /// The client's config breaks a rule, so that it connects to nothing; the log says which. Said
    /// to every operation; `run()` says `invalid_argument`. Remedy: the config, as the log says.
    invalid_config,
};

/// The category of `error`; its name is "colock".
boost::system::error_category const& error_category() noexcept;

/// So that an `error` is an `error_code` by itself.
error_code make_error_code(error e) noexcept;

}  // namespace colock

template <>
struct boost::system::is_error_code_enum<colock::error> : std::true_type {};
