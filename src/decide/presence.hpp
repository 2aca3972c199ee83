#pragma once

#include "decide/client_report.hpp"
#include "decide/time.hpp"
#include <colock/owner.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

/// Collects for the client's report what the client holds and waits for.
class presence {
    using time_point = decide::time_point;
    using milliseconds = decide::milliseconds;

public:
    explicit presence(time_point now) : now_{now} {}

    void holds(
        std::string_view kind, std::string const& key, std::string id, owner who, time_point since
    )
    {
        add(holds_, {false, std::string{kind}, key, std::move(id), who.number(), age(since)});
    }

    void waits(std::string_view kind, std::string const& key, owner who, time_point since)
    {
        add(waits_, {true, std::string{kind}, key, {}, who.number(), age(since)});
    }

    /// Both sorts are full, and it is known that there is more, so nobody need look further.
    bool is_full() const noexcept { return has_enough_holds() && waits_ == decide::most_reported; }
    bool has_enough_holds() const noexcept
    {
        return holds_ == decide::most_reported && !told.is_whole;
    }

    decide::client_report told;

private:
    milliseconds age(time_point since) const
    {
        return std::chrono::duration_cast<milliseconds>(now_ - since);
    }

    void add(std::size_t& count, decide::client_report::entry one)
    {
        if (one.age < decide::youngest_reported)
            return;
        if (count == decide::most_reported) {
            told.is_whole = false;
            return;
        }
        ++count;
        told.entries.push_back(std::move(one));
    }

    time_point now_;
    std::size_t holds_ = 0, waits_ = 0;
};

}  // namespace colock
