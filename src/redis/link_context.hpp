#pragma once

#include "base/log.hpp"
#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/tls.hpp"
#include <colock/config.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace colock {

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
    std::shared_ptr<std::set<std::string>> warned = std::make_shared<std::set<std::string>>();
    std::shared_ptr<std::uint32_t> links_made = std::make_shared<std::uint32_t>(0);

    /// Loads the files that connections need, before the first one.
    error_code prepare() const { return tls ? tls->load(settings.log) : error_code{}; }

    /// Logs a line once, although each link and each connection finds the cause again.
    void warn_once(std::string const& line) const
    {
        if (warned->insert(line).second)
            write_log(settings.log, log_level::warning, line);
    }

    void set_alarm(decide::alarm_queue::alarm& e, time_point at) const
    {
        if (alarms.set(e, at))
            alarms_changed();
    }
};

}  // namespace colock
