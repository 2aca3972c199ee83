#pragma once

#include "decide/alarm_queue.hpp"
#include "decide/subscription_table.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

using detail::core;

/// Multiplexes the channels of all that listen over the pub/sub link, of which a cluster has one
/// a node.
///
/// Runs on the client's strand. Each link's `subscription_table` decides what to subscribe next;
/// this class carries it out and passes on the events.
class subscription_manager {
public:
    /// A waiter for a channel. It may add and drop channels while it is called.
    class listener {
    public:
        /// The subscription is confirmed, perhaps again after a reconnect: earlier messages may
        /// have been missed.
        virtual void on_subscribed() = 0;
        virtual void on_message(std::string_view payload) = 0;

        /// The subscription is not live any more; it will be confirmed again.
        virtual void on_interrupted() {}

        /// The server does not allow the user this channel. It is asked again after a while.
        virtual void on_not_subscribed() {}

    protected:
        ~listener() = default;
    };

    explicit subscription_manager(core& owner);

    /// True if the channel is live already: messages are passed on from now on. If the server has
    /// refused it not long ago, and not only for the moment, `on_not_subscribed` is called at once.
    bool add(std::string const& channel, listener&);

    /// Where no other listener is left, the subscription lingers for `config::linger`, or ends at
    /// once.
    void remove(std::string const& channel, listener&, bool lingers = true);

    /// Whether the server sends the messages of this channel, with or without a listener.
    bool is_live(std::string_view channel) const noexcept;

    /// The client runs, perhaps again: what is still listened to needs its connections.
    void start();

    /// The client stops: asks for nothing any more.
    void stop();

    // Called by the transport.
    void on_rerouted();
    void on_pubsub_up(unsigned pubsub);
    void on_pubsub_down(unsigned pubsub);
    void on_subscribed(unsigned pubsub, std::string_view channel);
    void on_refused(unsigned pubsub, std::string_view channel, std::string_view why);
    void on_ended(unsigned pubsub, std::string_view channel);
    void on_changed(unsigned pubsub);
    void on_message(unsigned pubsub, std::string_view channel, std::string_view payload);

private:
    using time_point = std::chrono::steady_clock::time_point;

    /// The subscriptions of one pub/sub link.
    struct line {
        line(subscription_manager& whose, unsigned which);

        subscription_manager& of;
        unsigned pubsub;
        decide::subscription_table table;
        decide::alarm_queue::alarm pump{[this] { of.pump(*this); }};
    };

    /// The listeners of a channel, and its link.
    struct channel {
        unsigned pubsub = 0;
        std::vector<listener*> listeners{};
    };

    line& over(unsigned pubsub);
    line const* carrier_of(std::string_view name) const noexcept;
    void count_channels() noexcept;
    void pump(line&);
    void pump_by(line&, time_point);

    template <class Call>
    void for_each_listener(std::string_view channel, Call const& call);

    core& core_;
    std::map<unsigned, std::unique_ptr<line>> lines_;  ///< by pub/sub link
    std::map<std::string, channel, std::less<>> channels_;
};

}  // namespace colock
