// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/timeline.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace colock::simulation {

/// What packets meet on their way.
struct weather {
    moment least = std::chrono::microseconds{60};
    moment most = std::chrono::microseconds{300};
    std::uint64_t slow = 0;  ///< of a million packets so many take up to `slowest`
    moment slowest{};

    // Of a million: the connection breaks before a request has come, after it has run, and a
    // message is lost without a trace.
    std::uint64_t lost_requests = 0;
    std::uint64_t lost_replies = 0;
    std::uint64_t lost_messages = 0;
};

/// One TCP connection: each direction keeps its order.
struct wire {
    moment last_in{}, last_out{};  ///< when the last byte arrives, at the server and at the client
    bool is_cut = false;           ///< what is written now arrives nowhere
    bool has_gap = false;          ///< something on its way to the server was lost
    bool is_ended = false;         ///< the server has ended it: nothing more of it runs
};

/// A client's end of a connection, as the network sees it.
class line {
public:
    line(int machine, int node) noexcept : machine_{machine}, node_{node} {}

    int to_machine() const noexcept { return machine_; }
    int to_node() const noexcept { return node_; }
    virtual bool is_push() const noexcept = 0;

    /// The connection breaks, and the client notices after so long.
    virtual void cut(moment notice) = 0;

protected:
    ~line() = default;

private:
    int machine_;
    int node_;
};

/// Delays, losses and partitions between machines and nodes.
class network {
public:
    network(timeline& time, dice d) noexcept : time_{time}, dice_{d} {}

    weather now;

    moment delay();

    /// When a packet arrives that is sent now behind all others of its direction.
    moment arrival(moment& last)
    {
        last = std::max(last, time_.now() + delay());
        return last;
    }

    bool loses_request() noexcept { return happens(now.lost_requests); }
    bool loses_reply() noexcept { return happens(now.lost_replies); }
    bool loses_message() noexcept { return happens(now.lost_messages); }

    /// How long a client takes to see that a connection has gone: at once, or by its silence.
    moment notice();

    dice& luck() noexcept { return dice_; }

    // ---- Partitions ----------------------------------------------------------------------------

    void part(int machine, int node, moment until);
    bool is_parted(int machine, int node) const;
    void heal() { parted_.clear(); }

    // ---- Lines ---------------------------------------------------------------------------------

    void add(line& l) { lines_.push_back(&l); }
    void remove(line& l) noexcept { std::erase(lines_, &l); }

    template <class IsMeant>
    void cut(IsMeant const& is_meant)
    {
        for (auto* const each : std::vector{lines_})
            if (is_meant(*each))
                each->cut(notice());
    }

private:
    bool happens(std::uint64_t per_million) noexcept
    {
        return per_million != 0 && dice_.per_million(per_million);
    }

    timeline& time_;
    dice dice_;
    std::map<std::pair<int, int>, moment> parted_;
    std::vector<line*> lines_;
};

}  // namespace colock::simulation
