#pragma once

#include "base/log.hpp"
#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/endpoint_history.hpp"
#include "redis/tls.hpp"
#include <colock/config.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace colock {

/// The knowledge of a client about its servers, which all of its connections share.
struct known_servers {
    endpoint_histories endpoints{};
    std::optional<address> primary{};              ///< that most of the Sentinels have named last
    std::set<std::string> warned{};                ///< lines that the log has
    std::map<std::string, time_point> reported{};  ///< failures that the log has, and since when
    std::uint32_t links_made = 0;                  ///< to this client's servers so far
};

/// Shared by all connections of a client.
struct link_context {
    strand_type strand;
    config const& settings;
    decide::alarm_queue& alarms;
    std::function<void()> alarms_changed;  ///< there is a new earliest alarm
    std::function<double()> jitter;
    std::weak_ptr<void> life;  ///< held while anything of the client is being run

    /// The execution context has destroyed its handlers; a cancellation would touch them.
    std::function<bool()> is_context_gone;

    std::shared_ptr<colock::tls> tls{};  ///< none: connections are not encrypted
    std::shared_ptr<known_servers> known = std::make_shared<known_servers>();

    /// Loads the files that connections need, before the first one.
    error_code prepare() const { return tls ? tls->load(settings.log) : error_code{}; }

    /// Logs a line once, although each link and each connection finds the cause again.
    void warn_once(std::string const& line) const
    {
        if (known->warned.insert(line).second)
            write_log(settings.log, log_level::warning, line);
    }

    /// Where a server is reached that others have named.
    address reached_at(address const& named) const
    {
        return settings.map_address ? settings.map_address(named) : named;
    }

    void set_alarm(decide::alarm_queue::alarm& e, time_point at) const
    {
        if (alarms.set(e, at))
            alarms_changed();
    }
};

}  // namespace colock
