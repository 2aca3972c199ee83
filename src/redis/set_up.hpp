#pragma once

#include "decide/reply.hpp"
#include "resp/writer.hpp"
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace colock {

/// The first commands of each connection: HELLO with AUTH and SETNAME, and SELECT.
///
/// A valid user must be allowed all of it, because commands behind it run even if it was refused.
/// Only questions without effects may follow before it has been answered.
struct set_up {
    /// The required role of the server.
    enum class role {
        primary,  ///< a replica will not do: it refuses writes
        any
    };

    std::string const& username;
    std::string const& password;
    std::string const& client_name;
    int database = 0;
    role wanted = role::any;

    void write(resp::writer& to) const;

    /// How many replies it has.
    std::size_t replies() const noexcept { return database == 0 ? 1 : 2; }

    struct verdict {
        error_code ec{};      ///< none: the server has accepted us
        std::string words{};  ///< the server's, with what to do; not redacted
        bool is_replica = false;
    };
    verdict judge(std::span<decide::reply const> got) const;
};

/// Whether the answer to HELLO is that of a replica.
bool is_replica(decide::reply const& hello) noexcept;

/// Where several servers may be the primary, the connection has to be to that one.
inline set_up::role wanted_role(config const& c) noexcept
{
    bool const is_one_of_several =
        c.topology == topology::sentinel || c.topology == topology::replicated;
    return is_one_of_several ? set_up::role::primary : set_up::role::any;
}

// For the servers that have the locks, and for the Sentinels that know them. The result refers to
// the arguments.
set_up set_up_of_servers(config const&, credentials const&, set_up::role wanted);
set_up set_up_of_sentinels(credentials const&);

}  // namespace colock
