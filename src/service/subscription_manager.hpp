#pragma once

#include "decide/agenda.hpp"
#include "decide/subscription_table.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

using detail::core;

/// Multiplexes the unlock channels of all waiters over the one push link.
///
/// Runs on the client's strand. What is subscribed and what is to be asked for next is decided by
/// `subscription_table`; this carries it out and passes on what comes back.
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
    void drop(std::string const& channel, listener&);

    /// `who` is about to publish there: not zero if we will hear it, in this epoch, and that is
    /// passed on as an echo. Where somebody else listens who hears none it is a message: to him it
    /// is news.
    std::uint32_t expect_echo(std::string_view channel, listener const& who);
    void expect_no_echo(std::string_view channel, std::uint32_t epoch)
    {
        table_.expect_no_echo(channel, epoch);
    }
    std::uint32_t epoch() const noexcept { return table_.epoch(); }

    /// The client stops: nothing is asked for any more.
    void stop();

    // Told by the transport.
    void on_push_up();
    void on_push_down();
    void on_subscribed(std::string_view channel);
    void on_message(std::string_view channel, std::string_view payload);
    void on_changed(error_code ec);

private:
    void pump();
    void pump_soon();
    void pump_by(std::chrono::steady_clock::time_point);

    template <class Call>
    void for_each_listener(std::string_view channel, Call const& call);

    core& core_;
    decide::subscription_table table_;
    std::map<std::string, std::vector<listener*>, std::less<>> listeners_;
    decide::agenda::entry pump_;
    std::chrono::steady_clock::time_point pump_at_;  ///< when `pump_` is set to
};

}  // namespace colock
