#pragma once

#include "base/paced_log.hpp"
#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/known_replicas.hpp"
#include "redis/endpoint_history.hpp"
#include "redis/tls.hpp"
#include <colock/config.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace colock {

/// The knowledge of a client about its servers, which all of its connections share.
struct known_servers {
    endpoint_histories endpoints{};
    std::optional<address> primary{};  ///< that most of the Sentinels have named last
    std::set<std::string> warned{};    ///< lines that the log has
    std::uint32_t links_made = 0;      ///< to this client's servers so far

    /// How many replicas there are, as far as is known; only of a cluster there are several
    /// primaries.
    decide::known_replicas replicas{};
    unsigned& replicas_of(address const& where, topology of)
    {
        return replicas.of(of == topology::cluster ? where : address{});
    }
};

/// Shared by all connections of a client.
struct link_context {
    strand_type strand;
    config const& settings;
    paced_log& log;
    decide::alarm_queue& alarms;
    std::function<void()> alarms_changed;  ///< there is a new earliest alarm
    std::function<double()> jitter;
    std::weak_ptr<void> life;  ///< held while anything of the client is being run

    /// The execution context has destroyed its handlers; a cancellation would touch them.
    std::function<bool()> is_context_gone;

    std::shared_ptr<colock::tls> tls{};  ///< none: connections are not encrypted
    std::shared_ptr<known_servers> known = std::make_shared<known_servers>();

    /// Loads the files that connections need, before the first one.
    error_code prepare() const { return tls ? load_tls() : error_code{}; }

    error_code load_tls() const
    {
        auto const tell = [this](log_level level, std::string_view line) {
            log.write(level, {"tls", std::string{line}}, std::string{line});
        };
        return tls->load({tell, settings.log.level});
    }

    /// Logs a line once, although each link and each connection finds the cause again.
    void warn_once(std::string const& line) const
    {
        if (known->warned.insert(line).second)
            write_log(settings.log, log_level::warning, line);
    }

    /// Where a server is reached that others have named. They know no name for its certificate, so
    /// an address that the config has, too, takes that one's.
    address reached_at(address const& named) const
    {
        auto at = settings.map_address ? settings.map_address(named) : named;
        if (!at.server_name.empty())
            return at;
        for (auto const& known_one : settings.addresses) {
            at.server_name = known_one.server_name;
            if (at == known_one)
                return at;
        }
        at.server_name.clear();
        return at;
    }

    void set_alarm(decide::alarm_queue::alarm& e, time_point at) const
    {
        if (alarms.set(e, at))
            alarms_changed();
    }
};

}  // namespace colock
