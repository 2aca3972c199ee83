#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

/// Which channels are to be subscribed over one connection, and which are: what to ask for next,
/// one change at a time. A refused one is asked for again only after a while.
class subscription_table {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using milliseconds = std::chrono::milliseconds;

    /// How long a refusal is remembered: one that may pass, and any other.
    static constexpr milliseconds short_memory{100};
    static constexpr milliseconds refusal_memory{30'000};

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
    void remove(std::string_view channel, time_point now);

    /// A new connection is up: nothing is subscribed there. `epoch` tells it from all others.
    void link_up(std::uint32_t epoch);
    void link_down();

    /// The server has confirmed it. True if somebody waits for it.
    bool confirm(std::string_view channel);

    /// Our own message is about to be published. Not zero if the subscription is live, so that it
    /// will come back to us: on which connection.
    std::uint32_t expect_echo(std::string_view channel, unsigned copies = 1);

    /// What was expected on that connection will not come.
    void expect_no_echo(std::string_view channel, std::uint32_t epoch);

    /// None will come any more, over whichever connection.
    void forget_echoes(std::string_view channel);

    /// True if one was expected, which now has come.
    bool take_echo(std::string_view channel);

    /// What to ask for now; empty if nothing, or if a change is under way or the link down.
    change next_change(time_point now);

    /// The server has refused it, which does not end the change under way.
    void refuse(std::string_view channel, time_point until);

    /// The server has ended it, unasked. True if it was live; if it is waited for, it is asked for
    /// again.
    bool end_by_server(std::string_view channel);

    /// All of the change under way was answered.
    void change_done();

    /// When to ask for the next change at the latest: a lingering channel is to go then.
    time_point next_expiry() const noexcept;

    std::size_t size() const noexcept { return channels_.size(); }

    std::uint32_t epoch() const noexcept { return epoch_; }

private:
    struct channel {
        std::size_t waiters = 0;
        std::size_t echoes = 0;  ///< of our own messages, still to come
        state is = state::wanted;
        bool is_listed = false;  ///< among the expiries
        time_point until{};      ///< lingering, or refused: when it may go or be asked for again
    };

    using map_type = std::map<std::string, channel, std::less<>>;
    void list(map_type::iterator);
    void take_expired(change&, time_point now);
    void take_wanted(change&);

    milliseconds linger_;
    map_type channels_;
    std::vector<std::string> wanted_;  ///< names to subscribe, perhaps gone since
    std::multimap<time_point, std::string> expiries_;
    std::uint32_t epoch_ = 0;
    bool busy_ = false;
    bool up_ = false;
};

}  // namespace colock::decide
