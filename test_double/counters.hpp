#pragma once

#include "held_locks.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::testing {

/// Semaphores, their permits with a lease, and latches.
class counters {
public:
    explicit counters(outside& o) : outside_{o} {}

    // The scripts of these names.
    reply semaphore_acquire(script_call const&);
    reply semaphore_undo(script_call const&);
    reply semaphore_release(script_call const&);
    reply semaphore_set(script_call const&);
    reply semaphore_release_existing(script_call const&);
    reply semaphore_drain(script_call const&);
    reply latch_set(script_call const&);
    reply latch_count_down(script_call const&);
    reply latch_remove(script_call const&);
    reply count(script_call const&);
    reply permit_acquire(script_call const&);
    reply permit_extend(script_call const&);
    reply permit_release(script_call const&);
    reply permit_return(script_call const&);
    reply permit_set(script_call const&);
    reply permit_count(script_call const&);

    /// Semaphores of which permits with a lease are out.
    std::vector<std::string> held();

    /// The permits that are out are gone; true if there were some.
    bool lose(std::string const& key);
    void lose_all();

    std::int64_t value(std::string const& key) const;
    bool has(std::string const& key) const { return values_.contains(key); }

private:
    template <class Change>
    reply once(script_call const&, Change const&);
    reply set(script_call const&, std::string const& payload);
    std::int64_t tell_left(std::string const& channel, std::int64_t left);
    std::int64_t change(std::string const& key, std::int64_t by, std::string const& channel);

    /// Permits by id, and until when.
    using lease_list = std::map<std::string, time_point>;
    static std::int64_t ended(lease_list const&);
    template <class IsOver>
    void take_back(script_call const&, IsOver const& is_over);

    outside& outside_;
    std::map<std::string, std::int64_t> values_;
    std::set<std::string> semaphores_;
    struct record {
        std::int64_t number;
        std::int64_t result;
    };

    std::map<std::string, std::int64_t> takings_;      ///< by record: the last taking request
    std::map<std::string, record> changes_;            ///< by record: the last change
    std::map<std::string, lease_list> leases_;         ///< by key of the leases
    std::map<std::string, std::string> semaphore_of_;  ///< by key of the leases
};

}  // namespace colock::testing
