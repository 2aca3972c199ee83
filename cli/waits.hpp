// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/admin/layout.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cli {

using colock::admin::client_report;

/// One client of a cycle: it has one lock, and waits for the next one's.
struct link_of_waits {
    client_report const* client;
    client_report::entry const* has;
    client_report::entry const* wants;
    bool is_certain;  ///< one owner has the one and wants the other
};
using cycle_of_waits = std::vector<link_of_waits>;

/// The fields in the hash of each lock, as the server has them.
using fields_of_locks = std::map<std::string, std::vector<std::string>>;

/// The cycles among what these clients hold and wait for; the first so many.
std::vector<cycle_of_waits> find_cycles(
    std::vector<client_report> const&, fields_of_locks const&, std::size_t most
);

/// The same text for the same holds and waits of the same clients.
std::string name_of(cycle_of_waits const&);

}  // namespace cli
