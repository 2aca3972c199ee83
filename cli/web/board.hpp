// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "picture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cli::web {

using steady_time = std::chrono::steady_clock::time_point;
using wall_time = std::chrono::system_clock::time_point;

/// What is under a key, and when that was so: Redis answered between the two times.
struct reading {
    picture found;
    steady_time asked;
    steady_time answered;
    wall_time time;  ///< for people
};

/// A holder that came or went.
struct change {
    char const* what;  ///< acquired, released or gone, as `colock watch` has them
    std::string key;
    holder who;
    std::optional<milliseconds> lease;
    wall_time time;
};

boost::json::object to_json(change const&);

/// The locks as they were read last, and since when each holder has been seen. The readings are
/// compared here, because the server keeps no history.
class board {
public:
    /// \returns what has changed since the last reading of this key.
    std::vector<change> take(reading);

    /// From now on a holder that wasn't seen before has just come.
    void end_first_round() noexcept { is_first_round_ = false; }
    bool is_first_round() const noexcept { return is_first_round_; }

    /// The leases may be renewed while nobody reads them: it does not say of a holder that is gone
    /// then that its lease has ended. The picture stays.
    void doubt_leases();

    /// Begins anew, after a time in which nobody has read.
    void clear();

    bool has(std::string const& key) const { return locks_.contains(key); }
    std::size_t size() const noexcept { return locks_.size(); }
    std::vector<std::string> keys() const;

    /// All locks, sorted by their keys, as `colock info` has them; with `seen_at` and
    /// `seen_to_come` for each holder, and `waiting` in place of the queue.
    boost::json::array to_json() const;

private:
    struct sighting {
        wall_time first;
        bool saw_it_come;
    };
    struct entry {
        reading last;
        bool lease_is_known = true;               ///< nobody has had the time to renew it unseen
        std::map<std::string, sighting> holders;  ///< by their fields
    };

    bool is_first_round_ = true;
    std::map<std::string, entry> locks_;
};

}  // namespace cli::web
