#pragma once

#include "redis/server_links.hpp"
#include "redis/transport.hpp"

namespace colock {

/// One server, or the primary among several. The lane of a key is its hash slot modulo
/// `config::links`, and its link that lane modulo the links in use.
class single_server final :
    public transport,
    private command_link::listener,
    private pubsub_link::listener {
public:
    single_server(link_context context, transport_listener& who);

    error_code prepare() override { return context_.prepare(); }
    void start() override;
    void stop() override { links_.stop(); }
    void submit(step& s) override { links_.submit(s); }
    bool withdraw(step&) noexcept override;
    unsigned lane_of(unsigned slot) const noexcept override;
    bool is_up(unsigned slot) const noexcept override { return links_.link(slot).is_up(); }
    void want_link(unsigned slot) override { links_.want(slot); }
    failure down_reason(unsigned slot) const noexcept override;
    unsigned pubsub_of(std::string_view) const noexcept override { return 0; }
    void change_subscriptions(unsigned pubsub, subscription_change const&) override;
    void want_pubsub(unsigned) override { links_.want_pubsub(); }
    std::size_t links_up() const noexcept override { return links_.links_up(); }
    void destroy_pending() noexcept override { links_.destroy_pending(); }

private:
    void on_command_link_up(command_link&) override;
    void on_command_link_down(command_link&, error_code) override;
    void on_command_link_failed(command_link&) override {}
    void on_redirect(command_link&, step&, decide::redirection const&, time_point) override;
    void on_pubsub_link_up(pubsub_link&) override;
    void on_pubsub_link_down(pubsub_link&, error_code why) override
    {
        listener_.on_pubsub_down(0, why);
    }
    void on_demoted(pubsub_link&) override;
    void on_confirmed(pubsub_link&, std::string_view channel) override;
    void on_refused(pubsub_link&, std::string_view channel, std::string_view why) override;
    void on_changed(pubsub_link&) override { listener_.on_changed(0); }
    void on_ended(pubsub_link&, std::string_view channel) override;
    void on_published(pubsub_link&, std::string_view channel, std::string_view payload) override;
    template <class Link>
    void follow(Link const& which);

    link_context context_;
    transport_listener& listener_;
    server_links links_;
};

}  // namespace colock
