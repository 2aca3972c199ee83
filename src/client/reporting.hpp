#pragma once

#include "base/strand_task.hpp"
#include "core/reliable.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/client_report.hpp"
#include "decide/long_times.hpp"

#include <optional>
#include <string>
#include <utility>

namespace colock {

/// The label of a client that is given none: `host:pid` of this process.
std::string default_label();

/// Tells others of what the client has held or waited for longer than half a second: the server, by
/// the client's report, and the log, where `config::warn_wait` and `warn_hold` ask for that.
///
/// Keeps the report at the server, while the client is connected and has a label.
///
/// One SET when there is something new, at most one a second, and one every few seconds while there
/// is something to report; nothing in the scripts of the locks. Nothing depends on it: a report
/// that is lost is written again.
class reporting {
public:
    explicit reporting(core& owner);

    void begin();
    void stop();

private:
    strand_task send();
    void look();
    long_times::limits limits() const;
    bool has_news(decide::client_report const& now) const;
    bool is_due(decide::client_report const& now, milliseconds since_last) const;
    bool is_under_way();
    void refused(std::string_view why);

    core& core_;
    decide::alarm_queue::alarm next_;
    decide::alarm_queue::alarm next_look_;
    time_point last_look_{};
    reliable sending_;
    time_point last_{};  ///< when the last report was given to the connection
    /// The last report; none while it may not have come.
    std::optional<decide::client_report> told_{std::in_place};
    bool is_off_ = false;  ///< the server refuses it
};

}  // namespace colock
