// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/network.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// Where everything is that a client can reach.
struct surroundings {
    timeline& time;
    network& net;
    std::vector<node*> nodes;  ///< one: a server by itself; more: a cluster, whose slots they share
    int machine;
    bool without_clock = false;  ///< broken on purpose: see command_line::habits
};

/// In a cluster of so many nodes, the one that has the slot unless it was moved.
inline int first_owner(unsigned slot, std::size_t nodes) noexcept
{
    return static_cast<int>(slot * nodes / decide::slot_count);
}

/// The connections of one client: what single_server and cluster are over sockets. Slots are shared
/// among the links of a server for good, by a number that the seed draws.
class simulated_transport final : public transport, private command_line::listener {
public:
    simulated_transport(detail::core&, transport_listener&, surroundings);
    ~simulated_transport() override { destroy_pending(); }

    void start() override;
    void stop() override;
    void submit(step&) override;
    bool withdraw(step&) noexcept override;
    unsigned lane_of(unsigned slot) const noexcept override;
    bool is_up(unsigned slot) const noexcept override { return line_of(slot).is_up(); }
    void want_link(unsigned slot) override { open(line_of(slot)); }
    failure down_reason(unsigned slot) const noexcept override
    {
        return line_of(slot).down_reason();
    }
    unsigned pubsub_of(std::string_view channel) const noexcept override;
    void change_subscriptions(unsigned pubsub, subscription_change const&) override;
    void want_pubsub(unsigned pubsub) override;
    std::size_t links_up() const noexcept override;
    void destroy_pending() noexcept override;

private:
    struct server_lines {
        std::vector<std::shared_ptr<command_line>> commands;  ///< the last for what waits
        std::shared_ptr<pubsub_line> pubsub;
        bool pubsub_wanted = false;
    };

    void on_line_up(command_line&) override;
    void on_line_down(command_line&, error_code) override;
    void on_redirect(step&, decide::redirection const&, time_point sent) override;

    bool is_cluster() const noexcept { return around_.nodes.size() > 1; }
    unsigned owner_of(unsigned slot) const noexcept;
    command_line& line_of(unsigned slot) const noexcept;
    void open(command_line& which);
    void believe(unsigned slot, unsigned owner);
    void rest(step&);
    void wake();

    detail::core& core_;
    transport_listener& listener_;
    surroundings around_;
    std::size_t lanes_;
    std::vector<server_lines> servers_;
    std::map<unsigned, unsigned> moved_;  ///< slots that this client knows to be elsewhere
    step_list resting_;
    decide::alarm_queue::alarm alarm_;
    bool started_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace colock::simulation
