// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/history.hpp"
#include "simulation/world/machine.hpp"
#include "simulation/world/node.hpp"
#include "simulation/world/scenario.hpp"
#include <colock/claim.hpp>
#include <colock/hold.hpp>

#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::simulation {

/// A rule was broken.
class violation : public std::runtime_error {
public:
    violation(char const* which, std::string const& what, std::string about)
        : std::runtime_error{what}
        , rule{which}
        , object{std::move(about)}
    {}
    std::string rule;
    std::string object;  ///< its name
};

/// Something that clients share, and what is known of it from outside.
struct object {
    kind what;
    std::string name;
    std::vector<node*> at;  ///< one, or those of the parts
    std::vector<std::string> parts;
    std::int64_t permits = 0;

    std::map<std::size_t, std::uint64_t> last_tokens;
    std::uint64_t last_whole = 0;    ///< of a red lock: its own token
    bool outlives_restarts = false;  ///< its servers vote only when nothing from before is valid
    std::uint64_t last_owner = 0;    ///< who had them
    std::int64_t out = 0;            ///< permits of a semaphore that users have
    bool is_doubtful = false;        ///< a count may have gone with a client or a server

    std::optional<claim> given;  ///< the last that somebody gave away

    bool is_cluster = false;  ///< `at` are the nodes of a cluster, which has the one part
};

/// Knows the truth: what the servers have, what each user believes by a clock of its own, and what
/// time it really is. Throws a violation.
class judge {
public:
    /// `only_forced`: nothing but `force_release` takes anything away, so that the holders hear it.
    judge(timeline& time, history& past, bool only_forced = false)
        : time_{time}
        , past_{past}
        , only_forced_{only_forced}
    {}

    struct stay {
        object* of;
        int client;
        machine const* by;
        hold const* held;
        std::vector<std::string> uuids;  ///< what its fields begin with, in each part
        std::string field{};  ///< the whole of it, if there is one part; of a permit its id
        bool writes = true;
        std::uint64_t owner = 0;  ///< zero: its own
        int synced = 0;
        /// Of each server: when it granted its part, or when the user asked, if there is no token.
        std::vector<node::mishaps> before{};
        moment granted_until{};  ///< before any renewal; what replicas have acknowledged
        moment asked{};
        std::uint64_t number = 0;  ///< in the log of operations
        moment ends{};             ///< when it was or will be over, as it has shown
        /// When it was judged last: what its hold showed, and the changes of its servers by then.
        time_point shown{};
        moment shown_for{};  ///< the longest that it was valid since it was made shorter
        std::uint64_t changes = 0;
        std::uint64_t forces = 0;      ///< of its lock before it was handed out
        moment told_by = never_again;  ///< it was forced since, and its client has a mailbox
    };
    using place = std::list<stay>::iterator;

    /// What has befallen the servers of an object, as of now.
    std::vector<node::mishaps> mishaps_of(object const&) const;

    /// A user was handed a hold, and trusts it from now on.
    place enter(stay);

    /// Nobody may get it: servers of a red lock whose clocks differ by more than the limit of an
    /// answer cannot agree on a token.
    static bool may_stay_away(object const& o)
    {
        return o.what == kind::red && has_clock_jumped(o);
    }
    /// It lets go of it: before it says so to the library. Returns what released() takes.
    std::uint64_t leave(place at, std::string_view how);

    /// The release of what was left has been answered.
    void released(std::uint64_t number, error_code);

    /// The lock was granted after `asked`, and is to stay taken for so long
    /// (`acquire_options::at_least`): until then nobody else gets in.
    void reserve(stay const&, moment asked, milliseconds at_least);

    std::uint64_t take_permits(object&, int client, std::int64_t n, moment asked);
    void give_permits(object&, int client, std::int64_t n, std::uint64_t number);

    /// The client with its users is no more.
    void forget(int client);

    /// The server keeps each hold for as long as the hold says that it is valid. To be called after
    /// each event: only what has changed since is looked at again.
    void look();

    /// Something has gone wrong, or may have: a hold may be lost.
    void expect_losses() noexcept { is_calm_ = false; }

    std::uint64_t grants() const noexcept { return grants_; }
    std::uint64_t excused() const noexcept { return excused_; }

private:
    bool excludes(stay const& a, stay const& b) const;
    static bool is_same_owner(stay const& a, stay const& b);
    bool is_forced(stay const&) const;
    static std::string const& part_at(object const&, std::size_t server);
    bool has_lost(stay const&, std::size_t server) const;
    std::size_t parts_lost(stay const&) const;
    bool is_excused(stay const&) const;
    static time_point shown_by(stay const&);
    moment trusts_until(stay const&) const;
    bool is_everywhere(stay const&, node const&) const;
    std::uint64_t log(stay const&) const;
    void log_end(stay const&, moment ends, char const* why) const;
    void check_tokens(stay const&);
    static void check_whole_token(stay const&);
    static bool has_clock_jumped(object const&);
    static std::uint64_t changes_of(object const&);
    static moment end_of(node const&, std::string const& key);
    moment end_at(node const&, stay const&, std::size_t part) const;
    moment ends_at_server(stay const&) const;
    void check_end(stay&) const;
    void check_loss(stay const&) const;
    void check_forced(stay&) const;
    static bool has_mailbox(stay const&);
    static std::uint64_t forces_of(stay const&);
    void check_reserved();
    void check_reserved(stay const& newcomer) const;
    void check_alone(stay const&);

    /// Also of a hold that has ended.
    struct reservation {
        stay by;
        moment until;
        moment end = never_again;  ///< when the server ends it, as of the last change
    };

    timeline& time_;
    history& past_;
    std::list<stay> stays_;
    std::vector<reservation> reserved_;
    bool only_forced_;
    bool is_calm_ = true;
    std::uint64_t grants_ = 0;
    std::uint64_t excused_ = 0;
};

}  // namespace colock::simulation
