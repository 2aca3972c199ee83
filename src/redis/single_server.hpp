#pragma once

#include "redis/command_link.hpp"
#include "redis/push_link.hpp"
#include "redis/transport.hpp"

#include <memory>
#include <vector>

namespace colock {

/// One server: a few command links, each for its share of the hash slots, and the push link.
class single_server final : public transport, private command_link::listener {
public:
    single_server(link_context context, transport_listener& who);

    void start() override;
    void stop() override;
    void submit(step&) override;
    bool withdraw(step&) noexcept override;
    unsigned link_of(unsigned slot) const noexcept override;
    bool is_up(unsigned link) const noexcept override;
    void want_link(unsigned link) override;
    error_code down_reason(unsigned slot) const noexcept override;
    void change(subscription_change const&) override;
    void want_push() override;
    std::size_t links_up() const noexcept override;
    void abandon() noexcept override;

private:
    void on_command_link_up(command_link&) override;
    void on_command_link_down(command_link&, error_code) override;

    command_link& link(unsigned slot) const noexcept { return *links_[link_of(slot)]; }

    link_context context_;
    transport_listener& listener_;
    std::vector<std::unique_ptr<command_link>> links_;
    std::unique_ptr<push_link> push_;
    bool started_ = false;
    bool push_wanted_ = false;
};

}  // namespace colock
