// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "picture.hpp"
#include "session.hpp"
#include <colock/admin/layout.hpp>

#include <span>

namespace cli {

/// Adds to the holders the labels of their clients, and since when they hold it, where the clients
/// tell that.
asio::awaitable<void> add_labels(session&, std::span<picture>);

/// Reads what there is under the key, with who waits for it.
asio::awaitable<picture> read_picture(session&, std::string key);

/// How many clients wait for permits of that name, at least.
asio::awaitable<std::int64_t> count_permit_waiters(session&, std::string key);

/// The field under the key that is ours; its beginning, which all of ours share, if there is none.
asio::awaitable<std::string> own_field(session&, std::string key);

/// Whether there is a hash of somebody else's under the key, as far as a look at its first fields
/// tells. An acquire waits for it as for a lock.
asio::awaitable<bool> holds_no_lock(session&, std::string key);

/// The channels on which releases of the lock are told.
std::vector<std::string> channels_of(std::string const& key);

/// The primaries of the deployment; one that is alone has no place.
using colock::admin::primary;
asio::awaitable<std::vector<primary>> primaries_of(session&, colock::config const&);

}  // namespace cli
