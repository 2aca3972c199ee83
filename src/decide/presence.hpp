#pragma once

#include "decide/client_report.hpp"
#include "decide/time.hpp"
#include <colock/owner.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

/// Is told what a client holds, and what its calls wait for.
class presence {
public:
    using time_point = decide::time_point;
    using milliseconds = decide::milliseconds;

    /// `id`: the field of the hold in Redis, or the id of the permit.
    virtual void holds(
        std::string_view kind, std::string const& key, std::string id, owner who, time_point since
    ) = 0;
    virtual void waits(
        std::string_view kind, std::string const& key, owner who, time_point since
    ) = 0;

    /// Whether one that began then is of interest. Asked before its names are copied.
    virtual bool is_old_enough(time_point) const noexcept { return true; }

    /// Nobody need look further, because no more is taken.
    virtual bool has_enough_holds() const noexcept { return false; }
    virtual bool has_enough_waits() const noexcept { return false; }

protected:
    ~presence() = default;
};

/// Collects it for the client's report.
class reported_presence final : public presence {
public:
    explicit reported_presence(time_point now) : now_{now} {}

    void holds(
        std::string_view kind, std::string const& key, std::string id, owner who, time_point since
    ) override
    {
        add(holds_, {false, std::string{kind}, key, std::move(id), who.number(), age(since)});
    }

    void waits(std::string_view kind, std::string const& key, owner who, time_point since) override
    {
        add(waits_, {true, std::string{kind}, key, {}, who.number(), age(since)});
    }

    bool is_old_enough(time_point since) const noexcept override
    {
        return age(since) >= decide::youngest_reported;
    }

    /// It is full, and it is known that there is more.
    bool has_enough_holds() const noexcept override
    {
        return holds_ == decide::most_reported && !told.is_whole;
    }
    bool has_enough_waits() const noexcept override
    {
        return waits_ == decide::most_reported && !told.is_whole;
    }

    decide::client_report told;

private:
    milliseconds age(time_point since) const noexcept
    {
        return std::chrono::duration_cast<milliseconds>(now_ - since);
    }

    void add(std::size_t& count, decide::client_report::entry one)
    {
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
