#pragma once

#include "base/clock.hpp"
#include "base/sequence.hpp"
#include "colock_scripts.hpp"
#include "decide/reply.hpp"
#include <colock/error.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// What became of a step that was handed to the transport.
struct answer {
    enum class kind {
        replied,   ///< `value` is the server's reply
        lost,      ///< it was written, and the connection went before the reply: it may have run
        not_now,   ///< the server refused for the moment; nothing was done
        failed,    ///< the server refused, or nothing can be sent: `ec` says why
        withdrawn  ///< it was taken back before it was written
    };

    kind what = kind::withdrawn;
    decide::reply value{};
    error_code ec{};
    time_point sent{};     ///< just before it was written: where validity begins
    bool passing = false;  ///< failed for a want of memory, replicas or disk, which may pass
};

/// Stands for the fencing floor of the link: the server's time when its connection came up.
inline constexpr std::string_view link_floor = "link";

/// The counter has none: it may be as low as it is.
inline constexpr std::string_view no_floor = "0";

/// Not a script but a bare command, as a step sends it.
inline constexpr scripts::script ping_command{"PING", "", ""};

/// One lock's part of a script call: each script takes any number of locks, and a link joins the
/// steps of one turn of the event loop into few calls. It lives in the frame of the sequence that
/// awaits `answered`, and so do the texts that it refers to.
struct step : boost::intrusive::list_base_hook<> {
    step(
        scripts::script const& script,
        unsigned of_slot,
        std::span<std::string_view const> k,
        std::span<std::string_view const> a
    ) noexcept
        : what{script}
        , slot{of_slot}
        , keys{k}
        , arguments{a}
    {}

    scripts::script const& what;
    unsigned slot;
    std::span<std::string_view const> keys;
    std::span<std::string_view const> arguments;
    std::string_view floor{};  ///< what draws tokens: `link_floor`, or "0" where the counter has
                               ///< none; empty without fencing
    bool whole = false;        ///< a call by itself, for many locks: its answer is the whole reply
    bool alone = false;    ///< in a call of its own: the server has refused to run it in another
    bool as_text = false;  ///< with EVAL: the server does not know the script
    event<answer> answered{};
};

/// What is to be subscribed and unsubscribed in one go.
struct subscription_change {
    std::vector<std::string> subscribe;
    std::vector<std::string> unsubscribe;
    bool empty() const noexcept { return subscribe.empty() && unsubscribe.empty(); }
};

/// What the transport tells; always on the strand, and not while it is being called.
class transport_listener {
public:
    virtual void on_link_up(std::size_t link, std::uint64_t epoch) = 0;
    virtual void on_link_down(std::size_t link, error_code why) = 0;
    virtual void on_subscribed(std::string_view channel) = 0;
    virtual void on_message(std::string_view channel, std::string_view payload) = 0;
    virtual void on_push_up() = 0;
    virtual void on_push_down() = 0;

    /// The change asked for last is done, or refused as a whole: then the push link goes down.
    virtual void on_changed(error_code ec) = 0;

protected:
    ~transport_listener() = default;
};

/// The connections to one deployment: the seam between what colock decides and what moves bytes.
/// All is called on the strand.
class transport {
public:
    virtual ~transport() = default;

    virtual void start() = 0;

    /// Drops all connections. Steps not yet written fail with `error::closed`, written ones are
    /// lost.
    virtual void stop() = 0;

    /// Sends the step once, when its link is up, and sets `answered`, perhaps before it returns.
    /// Never sends it again by itself but for a script that the server does not know.
    virtual void submit(step&) = 0;

    /// True if the step was not written and never will be; `answered` is then not set.
    virtual bool withdraw(step&) noexcept = 0;

    /// Which link the steps of this slot go over: renewals are batched by it.
    virtual unsigned link_of(unsigned slot) const noexcept = 0;

    virtual bool is_up(unsigned link) const noexcept = 0;

    /// Opens the link if it is not open yet, as a step does.
    virtual void want_link(unsigned link) = 0;

    /// Why the link of this slot is down; no error when it is up.
    virtual error_code down_reason(unsigned slot) const noexcept = 0;

    /// Asks for a change of the subscriptions, one at a time, only while the push link is up.
    virtual void change(subscription_change const&) = 0;

    /// Opens the push link if it is not open yet.
    virtual void want_push() = 0;

    virtual std::size_t links_up() const noexcept = 0;

    /// Destroys every sequence that waits for a step: the client goes away.
    virtual void abandon() noexcept = 0;
};

}  // namespace colock
