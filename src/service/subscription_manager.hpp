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

/// Multiplexes the unlock channels of all waiters over the pub/sub link, of which a cluster has one
/// a node.
///
/// Runs on the client's strand. What is subscribed over a link and what is to be asked for next is
/// decided by its `subscription_table`; this carries it out and passes on what comes back.
class subscription_manager {
public:
    /// Who waits for a channel. May add and drop channels while it is called.
    class listener {
    public:
        /// The subscription is confirmed, perhaps again after a reconnect: what was published
        /// before may have been missed.
        virtual void on_subscribed() = 0;
        virtual void on_message(std::string_view payload) = 0;

        /// It is live no more; it will be confirmed again.
        virtual void on_interrupted() = 0;

        /// What this client has published there itself is passed on to it all the same.
        virtual bool hears_echoes() const { return false; }
        virtual void on_echo() {}

    protected:
        ~listener() = default;
    };

    explicit subscription_manager(core& owner);

    /// True if the channel is live already: messages from now on are passed on.
    bool add(std::string const& channel, listener&);
    void remove(std::string const& channel, listener&);

    /// `who` is about to publish there: not zero if we will hear it, in this epoch, and that is
    /// passed on as an echo. Where somebody else listens who hears none it is a message: to him it
    /// is news.
    std::uint32_t expect_echo(std::string_view channel, listener const& who);
    void expect_no_echo(std::string_view channel, std::uint32_t epoch);

    /// Of the connection that carries the channel, 0 if none does.
    std::uint32_t epoch_of(std::string_view channel) const noexcept;

    /// The client stops: nothing is asked for any more.
    void stop();

    // Told by the transport.
    void on_rerouted();
    void on_pubsub_up(unsigned pubsub);
    void on_pubsub_down(unsigned pubsub);
    void on_subscribed(unsigned pubsub, std::string_view channel);
    void on_refused(unsigned pubsub, std::string_view channel, std::string_view why);
    void on_ended(unsigned pubsub, std::string_view channel);
    void on_changed(unsigned pubsub);
    void on_message(std::string_view channel, std::string_view payload);

private:
    using time_point = std::chrono::steady_clock::time_point;

    /// What goes over one pub/sub link.
    struct line {
        line(subscription_manager& whose, unsigned which);

        subscription_manager& of;
        unsigned pubsub;
        decide::subscription_table table;
        decide::alarm_queue::alarm pump{[this] { of.pump(*this); }};
        time_point pump_at;  ///< when `pump` is set to
    };

    /// Who waits for a channel, and over which link.
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
    unsigned copies_;                                  ///< in which a message of our own comes back
    std::map<unsigned, std::unique_ptr<line>> lines_;  ///< by pub/sub link
    std::map<std::string, channel, std::less<>> channels_;
    std::uint32_t connections_ = 0;
};

}  // namespace colock
