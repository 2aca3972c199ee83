#pragma once

#include "base/completion.hpp"
#include "client/reporting.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/mailbox.hpp"
#include "core/subscription_manager.hpp"
#include "holds/hold_registry.hpp"
#include "holds/watchdog.hpp"
#include "locks/heartbeat.hpp"
#include "locks/poller.hpp"
#include <colock/client.hpp>

#include <functional>
#include <memory>
#include <string>

namespace colock {
inline namespace v0_3 {
namespace detail {

/// The state behind a `client`: owns the parts that serve all locks, passes on to them what the
/// transport tells, and decides when the client starts, becomes idle, closes and ends.
class client_state final : public core, private transport_listener {
public:
    using make_transport =
        std::function<std::unique_ptr<colock::transport>(client_state&, transport_listener&)>;

    /// On the servers of its config.
    static core_ptr make(asio::any_io_executor, config, identity);

    /// On another transport, for tests.
    static core_ptr make(asio::any_io_executor, config, make_transport const&, identity);

    /// Every core is a client state.
    static client_state& of(core& c) noexcept { return static_cast<client_state&>(c); }

    ~client_state();

    // ---- On the strand -------------------------------------------------------------------------

    void run(std::shared_ptr<operation>, completion<>);
    void cancel_run(std::shared_ptr<operation> const&);
    void close(std::shared_ptr<operation>, completion<>);
    void cancel_close(std::shared_ptr<operation> const&);
    void stop();

    /// The client object is destroyed. Releases that are due have some time to be sent; then it is
    /// as after `stop()`, and it never runs again.
    void retire();

    failure enter() override;
    void on_less() override;
    void shut_down() noexcept override;

private:
    client_state(asio::any_io_executor, config, identity);
    struct deferred_delete;
    static void destroy(client_state*) noexcept;
    void destroy_pending() noexcept;

    void on_link_up(std::size_t link, std::uint64_t epoch) override;
    void on_link_down(std::size_t link, error_code why) override;
    void on_reached(slot_filter const&) override;
    void on_rerouted() override { subscriptions_.on_rerouted(); }
    void on_pubsub_up(unsigned pubsub, std::uint64_t epoch) override;
    void on_pubsub_down(unsigned pubsub, error_code why) override;
    void on_subscribed(unsigned pubsub, std::string_view channel) override;
    void on_refused(unsigned pubsub, std::string_view channel, std::string_view why) override;
    void on_changed(unsigned pubsub) override { subscriptions_.on_changed(pubsub); }
    void on_ended(unsigned pubsub, std::string_view channel) override;
    void on_message(unsigned pubsub, std::string_view channel, std::string_view payload) override;

    void tell_of_outage();
    void tell_up(std::size_t link, std::uint64_t epoch);
    void tell_down(std::size_t link, error_code why);
    std::size_t number_of(unsigned pubsub) const noexcept;
    failure check_settings();
    failure start();
    void look_if_idle();
    bool is_idle() const noexcept;
    void part();
    void refuse_who_waits();
    void on_quiet() noexcept override;
    void end_flush_if_done();
    void give_up_flush();
    std::string what_is_owed() const;
    void end_run(failure);
    void finish_closing_if_done();
    void finish_closing(failure);

    int process_;
    std::atomic<bool> is_context_gone_ = false;

    failure failure_{};         ///< why the last operation could not start the client
    time_point start_again_{};  ///< not before
    bool was_wanted_ = false;   ///< since the last check whether the client is idle

    completion<> running_;
    completion<> closing_;
    std::shared_ptr<operation> runner_;
    std::shared_ptr<operation> closer_;
    alarm_clock::alarm close_limit_;
    alarm_clock::alarm idle_look_;
    alarm_clock::alarm flush_limit_;
    decide::outage outage_;
    alarm_clock::alarm outage_look_;
    reporting reporting_;
    core_ptr flushing_;  ///< itself: the client is gone, and releases are being sent

    // Destroyed from the bottom up: the tasks that wait for the transport go first, while the state
    // that they refer to still exists.
    keyed_state_registry states_;
    hold_registry holds_;
    colock::watchdog watchdog_;
    colock::poller poller_;
    heartbeat heartbeats_;
    subscription_manager subscriptions_;
    colock::mailbox mailbox_;
    std::unique_ptr<colock::transport> transport_owner_;
};

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
