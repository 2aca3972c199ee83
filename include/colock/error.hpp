// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

#include <type_traits>

namespace colock {
inline namespace v0_3 {

using boost::system::error_code;

/// The errors of this library. A code and its `message()` say what kind of error it is;
/// `diagnostics.hpp` has the way to the lock, the server, and the words of the server or of the
/// connection.
///
/// A wait that runs out because somebody else has the lock is not an error: `try_acquire_for`
/// completes with an empty optional. If no server has said so, it is `unavailable`. A
/// cancelled operation completes with `boost::asio::error::operation_aborted`.
enum class error {
    /// The client was closed, stopped or destroyed. Remedy: after a stop, call `run()` again;
    /// otherwise make a new client.
    closed = 1,

    /// The hold is gone: its lease ran out without a renewal, or its key was deleted, forced or
    /// flushed. Remedy: stop the work that the lock protected; its writes since the loss may be too
    /// late.
    lost,

    /// There is nothing to release, extend or give, because the hold is empty or moved from; for
    /// `extend` and `give` also, because it is released.
    not_held,

    /// The key holds a value of another type. Nothing was changed. Remedy: choose another name.
    wrong_type,

    /// An argument breaks its rule: an empty or over-long name, a lease that is
    /// too short, a negative wait. Nothing was sent.
    invalid_argument,

    /// Too few copies had the step in time (`config::durability`). It was undone, but for what
    /// `try_set_permits`, `try_set_count` or `drain` did: that stays at the primary.
    not_replicated,

    /// A majority of the servers could not be locked: they do not answer, or they have
    /// started a short time ago and do not vote yet (`config::vote_after`). The text says when.
    no_quorum,

    /// The server refused a subscription. Waiters go on without it: they ask again when the
    /// holder's lease ends and each `config::poll_cap`.
    subscription_failed,

    /// The server refused a command: wrong password, missing permission, out of memory. The text
    /// of the exception, the `diagnostics` and the log have the server's own words. Remedy: as
    /// these say; colock goes on trying to connect.
    server_refused,

    /// No connection to the server came up in time, or the server did not answer in time, or it
    /// refused for the moment until then (LOADING, BUSY, CLUSTERDOWN). Remedy: check that the
    /// address is right and the server is up; the text of the exception, the `diagnostics` and the
    /// log say why it can't be reached.
    unavailable,

    /// The server gave an answer that the script can't give. Remedy: check that the address is a
    /// Redis or Valkey server; if it is, report a bug.
    bad_reply,

    /// The copies that the operation wants (`config::durability`) can never be had: there are fewer
    /// replicas, as far as is known, or the server lacks WAIT or WAITAOF, refuses it to the user,
    /// or writes no AOF. Remedy: as the log says.
    unsupported,

    /// The URL's scheme is not one of those that `config::parse` lists.
    invalid_url_scheme,

    /// The URL's user or password has a `%` that no two hexadecimal digits follow.
    invalid_url_credentials,

    /// The URL names no host, or one with characters that a host cannot have, or names a server of
    /// a list twice.
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

    /// The acquire would have waited for its own owner: the owner already holds the lock and the
    /// options say that it does not enter again, or it reads a read-write lock and wants to write.
    /// Nothing was sent. Remedy: release what the owner holds first, or take the write side from
    /// the start.
    would_deadlock,

    /// The client uses a cluster, and the braces of the name are unpaired or empty, as in `a{b` or
    /// `x{}`. They name no hash tag, so the keys and channels of the name would be in several
    /// slots. Nothing was sent. Remedy: pair the braces, or leave them out.
    no_hash_tag,

    /// The claim is void: somebody has adopted it before, or its lease has ended. Nothing was
    /// changed. Remedy: acquire the lock as usual.
    claim_gone,
};

/// Classes of errors: `if (ec == colock::condition::retryable) …`.
enum class condition {
    /// The same call may succeed later, though nothing changes in the program or its config: there
    /// is no connection, it broke or did not answer, too few replicas or servers answered, or the
    /// server refuses for the moment (it lacks memory, replicas or a disk). Wait a little before
    /// the next call.
    ///
    /// Not among them: a loss (the work has been done in part, so only its author knows whether it
    /// may run again), a cancellation, `error::closed`, and whatever somebody has to repair first.
    retryable = 1,
};

/// The category of `error`; its name is "colock".
///
/// A refusal of the server that may pass (`condition::retryable`) has a category of its own, which
/// compares equal to this one.
boost::system::error_category const& error_category() noexcept;

/// The category of `condition`.
boost::system::error_category const& condition_category() noexcept;

/// Lets an `error` convert to an `error_code`.
error_code make_error_code(error e) noexcept;

/// Lets a `condition` be compared to an `error_code`.
boost::system::error_condition make_error_condition(condition c) noexcept;

}  // namespace v0_3
}  // namespace colock

template <>
struct boost::system::is_error_code_enum<colock::error> : std::true_type {};

template <>
struct boost::system::is_error_condition_enum<colock::condition> : std::true_type {};
