#pragma once

#include "core/subscription_manager.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace colock {

using detail::core;

/// Listens to the server's events of the key that an ownership is in (`config::instant_notice`).
/// At each event that may have taken the ownership away, `ask` lets it ask the server, and so it
/// knows within a round trip what it would else learn at its next renewal.
class loss_notice final : private subscription_manager::listener {
public:
    /// Null unless the config asks for it, and the topology has one server that sends the events.
    static std::unique_ptr<loss_notice> of(
        core&, std::string const& key, bool shared, std::function<void()> ask
    );

    loss_notice(core&, std::string const& key, bool shared, std::function<void()> ask);
    ~loss_notice();
    loss_notice(loss_notice const&) = delete;
    loss_notice& operator=(loss_notice const&) = delete;

private:
    void on_subscribed() override;
    void on_message(std::string_view event) override;
    void on_interrupted() override { may_have_missed_ = true; }

    core& core_;
    std::string channel_;
    bool shared_;  ///< with others, who have fields of their own
    std::function<void()> ask_;
    bool may_have_missed_ = false;  ///< events before the subscription is confirmed
};

}  // namespace colock
