#pragma once

#include "base/clock.hpp"
#include "base/log.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace colock {

/// Writes lines about faults that go on, or that many objects have at once, without flooding the
/// log.
///
/// Lines of one kind share a pace. After the first line, or the first few, comes a pause, in which
/// lines are left out. At its end the last of those is written, with its age and how many more
/// there were, and the next pause is twice as long. A cause that is new among the lines of a kind
/// is written at once. A kind of which nothing has come for its longest pause begins again.
///
/// The lines about one server are written in the order in which they came: before one of them comes
/// what was left out. The log does not end with a fault of a server that is up again: after a fault
/// that was written, the line that says so is written at once.
class paced_log {
public:
    struct pace {
        unsigned at_once;      ///< so many lines come before the first pause
        milliseconds longest;  ///< pause
    };

    /// Of what concerns a server: a fault that lasts an hour has less than 20 lines.
    static constexpr pace of_servers{1, std::chrono::minutes{15}};

    /// Of single locks: their owners look for their own line, and only a burst is summed up.
    static constexpr pace of_locks{10, std::chrono::seconds{10}};

    struct kind {
        std::string about;    ///< lines with the same text here are of one kind
        std::string cause{};  ///< news if the kind has not had it yet
        pace at = of_servers;
        std::string server{};  ///< that it is about, if it is about one
        bool is_up = false;    ///< ends the faults of that server
    };

    /// `wake`: to call `catch_up` at that time, in place of a time that was told before. Without
    /// such a call, what was left out comes with the next line of its kind or server.
    paced_log(logger const& to, std::function<void(time_point)> wake);

    /// Whether lines of this level are written at all.
    bool takes(log_level level) const noexcept { return to_.sink && level >= to_.level; }

    void write(log_level, kind const&, std::string line);

    /// Whether this is the first line about it. That is forgotten after many others.
    bool is_first(std::string about);

    /// Writes what was left out, where the pause is over.
    void catch_up();

    /// Writes all that was left out. Nobody is to be woken any more.
    void finish();

private:
    struct state {
        pace at;
        unsigned written = 0;
        milliseconds pause{};
        std::string server{};
        bool is_up = false;
        bool is_down_in_log = false;  ///< written since the last line that the server is up
        time_point latest{};          ///< the last line, written or not
        time_point since{};           ///< lines that were left out are counted from then on
        time_point due{};             ///< the end of the pause
        std::size_t left_out = 0;
        log_level level{};   ///< of the last line that was left out, …
        std::string line{};  ///< … and that itself
        std::set<std::string> causes{};
    };

    bool is_down_in_log(std::string const& server) const;
    void note_in_log(state&);
    void put(state&);
    template <class Which>
    void put_left_out(Which const&);
    void put_left_out_with(state const&);

    logger const& to_;
    std::function<void(time_point)> wake_;
    std::map<std::string, state> kinds_;
    std::set<std::string> once_;
};

}  // namespace colock
