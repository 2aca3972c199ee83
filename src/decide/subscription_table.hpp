#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

/// Which channels are to be subscribed and which are: what to ask for next, one change at a time.
///
/// A change that the server refuses does not say for which channel; it is cut in halves until one
/// is alone. That one is refused, and asked for again only after `refusal_memory`.
class subscription_table {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using milliseconds = std::chrono::milliseconds;
    static constexpr std::chrono::seconds refusal_memory{30};

    enum class state { wanted, asked, live, refused };

    struct change {
        std::vector<std::string> subscribe;
        std::vector<std::string> unsubscribe;
        bool empty() const noexcept { return subscribe.empty() && unsubscribe.empty(); }
    };

    explicit subscription_table(milliseconds linger) : linger_{linger} {}

    /// One more waits for the channel.
    state add(std::string_view channel, time_point now);

    /// One less waits for it. The last one leaves it to linger.
    void drop(std::string_view channel, time_point now);

    /// The link is up: nothing is subscribed there.
    void link_up();
    void link_down();

    /// The server has confirmed it. True if somebody waits for it.
    bool confirm(std::string_view channel);

    /// Our own message is about to be published: true if the subscription is live, so that it will
    /// come back to us.
    bool expect_echo(std::string_view channel);

    /// True if one was expected, which now has come, or will not.
    bool take_echo(std::string_view channel);

    /// What to ask for now; empty if nothing, or if a change is under way or the link down.
    change next_change(time_point now);

    /// The change under way was answered.
    void change_done();

    /// The change under way was refused; the link goes down. Gives the channels that are now
    /// known to be refused.
    std::vector<std::string> change_refused(time_point now);

    /// When to ask for the next change at the latest: a lingering channel is to go then.
    time_point next_expiry() const noexcept;

    std::size_t size() const noexcept { return channels_.size(); }

private:
    struct channel {
        std::size_t waiters = 0;
        std::size_t echoes = 0;  ///< of our own messages, still to come
        state is = state::wanted;
        time_point until{};  ///< lingering, or refused: when it may go or be asked for again
    };

    using map_type = std::map<std::string, channel, std::less<>>;
    void take_wanted(change&);

    milliseconds linger_;
    map_type channels_;
    std::vector<std::string> wanted_;                ///< names to subscribe, perhaps gone since
    std::deque<std::vector<std::string>> suspects_;  ///< parts of refused changes
    std::multimap<time_point, std::string> expiries_;
    std::vector<std::string> under_way_;
    bool busy_ = false;
    bool up_ = false;
};

}  // namespace colock::decide
