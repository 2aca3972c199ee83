#pragma once

#include "decide/time.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

/// The wanted and the live subscriptions of one connection. It says which change to ask for next,
/// one at a time. A refused channel is asked for again only after a while.
class subscription_table {
public:
    /// How long a refusal is remembered: a temporary one, and any other.
    static constexpr milliseconds short_memory{100};
    static constexpr milliseconds refusal_memory{30'000};

    enum class state { wanted, asked, live, refused };

    struct change {
        std::vector<std::string> subscribe;
        std::vector<std::string> unsubscribe;
        bool empty() const noexcept { return subscribe.empty() && unsubscribe.empty(); }
    };

    explicit subscription_table(milliseconds linger) : linger_{linger} {}

    /// The channel has one more waiter.
    state add(std::string_view channel, time_point now);

    /// One less waits for it. The last one leaves it to linger, or to end.
    void remove(std::string_view channel, time_point now, bool lingers = true);

    /// A new connection is up, without subscriptions.
    void link_up();
    void link_down();

    /// The server has confirmed the subscription. True if the channel has a waiter.
    bool confirm(std::string_view channel);

    /// The change to ask for now; empty if there is none, a change is under way, or the link is
    /// down.
    change next_change(time_point now);

    /// The server has refused the channel. That does not end the change under way.
    void refuse(std::string_view channel, time_point until);

    bool is_live(std::string_view name) const noexcept
    {
        auto const at = channels_.find(name);
        return at != channels_.end() && at->second.is == state::live;
    }

    /// It is refused for longer than a moment.
    bool is_refused(std::string_view channel, time_point now) const;

    /// The server has ended the subscription, unasked. True if it was live. If it has a waiter, it
    /// is asked for again.
    bool end_by_server(std::string_view channel);

    /// The change under way was answered completely.
    void change_done();

    /// The latest time to ask for the next change: the linger time of a channel ends then.
    time_point next_expiry() const noexcept;

    /// How many channels are subscribed or wanted. One that nobody waits for, and that is only
    /// remembered as refused, is not.
    std::size_t in_use() const noexcept { return channels_.size() - remembered_; }

private:
    struct channel {
        std::size_t waiters = 0;
        state is = state::wanted;
        bool is_listed = false;  ///< among the expiries
        time_point until{};      ///< lingering, or refused: when it may go or be asked for again

        bool is_remembered() const noexcept { return is == state::refused && waiters == 0; }
    };

    using map_type = std::map<std::string, channel, std::less<>>;
    void list(map_type::iterator);
    void take_expired(change&, time_point now);
    void take_wanted(change&);

    milliseconds linger_;
    map_type channels_;
    std::vector<std::string> wanted_;  ///< names to subscribe, perhaps gone since
    std::multimap<time_point, std::string> expiries_;
    std::size_t remembered_ = 0;  ///< refused channels without a waiter
    bool busy_ = false;
    bool up_ = false;
};

}  // namespace colock::decide
