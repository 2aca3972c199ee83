#pragma once

#include "decide/slot_map.hpp"
#include "redis/server_links.hpp"
#include "redis/slot_migration.hpp"
#include "redis/topology_refresher.hpp"
#include "redis/transport.hpp"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace colock {

/// A cluster: the links of one server to each node that serves slots.
///
/// A step goes to the node that serves its slot, as far as the client knows. It believes a
/// redirection at once, and asks for the whole map. Steps that wait for a link that no longer
/// serves their slot go to the link that does. Each lane is one slot: a call never has keys of two
/// slots.
class cluster final :
    public transport,
    private command_link::listener,
    private pubsub_link::listener,
    private topology_refresher::listener,
    private slot_migration::listener {
public:
    cluster(link_context context, transport_listener& who);
    ~cluster() override;

    error_code prepare() override { return context_.prepare(); }
    void start() override;
    void stop() override;
    void submit(step&) override;
    bool withdraw(step&) noexcept override;
    unsigned lane_of(unsigned slot) const noexcept override { return slot; }
    bool is_up(unsigned slot) const noexcept override;
    void want_link(unsigned slot) override;
    failure down_reason(unsigned slot) const noexcept override;
    unsigned pubsub_of(std::string_view channel) const noexcept override;
    bool counts_receivers() const noexcept override { return how_ != publishing::plain; }
    void change_subscriptions(unsigned pubsub, subscription_change const&) override;
    void want_pubsub(unsigned pubsub) override;
    std::size_t links_up() const noexcept override;
    void destroy_pending() noexcept override;

private:
    void on_command_link_up(command_link&) override;
    void on_command_link_down(command_link&, error_code) override;
    void on_command_link_failed(command_link&) override;
    void on_redirect(command_link&, step&, decide::redirection const&, time_point) override;
    void on_pubsub_link_up(pubsub_link&) override;
    void on_pubsub_link_down(pubsub_link&, error_code) override;
    void on_pubsub_link_failed(pubsub_link&) override;
    void on_confirmed(pubsub_link&, std::string_view channel) override;
    void on_refused(pubsub_link&, std::string_view channel, std::string_view why) override;
    void on_changed(pubsub_link&) override;
    void on_ended(pubsub_link&, std::string_view channel) override;
    void on_published(pubsub_link&, std::string_view channel, std::string_view payload) override;
    void on_map(std::vector<decide::slot_range> const&, bool has_sharded) override;
    void on_refresh_refused(failure) override;
    bool is_content() const override;
    void on_rested(step_list) override;

    server_links& at(unsigned number);
    server_links* server_of(unsigned slot) const noexcept;
    /// A node's redirection for a slot, which no older answer of another node overrides.
    struct slot_hint {
        address owner{};
        time_point since{};
    };

    address target_of(decide::redirection const&, address const& from) const;
    void note_hint(unsigned slot, address const&);
    void keep_hints(decide::slot_set& changed);
    void on_moved(step&, unsigned slot, address const&);
    void warn_of_address(address const&);
    void settle_dispute(step&);
    void send_again(step_list);
    void reclaim(command_link&);
    void route(decide::slot_set const& changed);
    void tell_of_moved();
    void retire_idle();
    void rest(step&, milliseconds longest);

    link_context context_;
    transport_listener& listener_;
    decide::slot_map map_;
    /// By their numbers in the map: the nodes that serve slots, and others while they are used.
    std::map<unsigned, std::unique_ptr<server_links>> nodes_;
    topology_refresher refresher_;
    step_list unrouted_;  ///< no node is known to serve their slots
    std::unordered_map<unsigned, std::unique_ptr<slot_migration>> migrations_;
    std::unordered_map<unsigned, slot_hint> hints_;  ///< by slot
    time_point troubled_until_{};                    ///< something contradicts the map
    decide::slot_set moved_;                         ///< nobody was told of them yet
    time_point told_{};                              ///< last
    decide::alarm_queue::alarm tell_{[this] { tell_of_moved(); }};
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    publishing how_ = publishing::plain;
    bool has_map_ = false;
    bool started_ = false;
};

}  // namespace colock
