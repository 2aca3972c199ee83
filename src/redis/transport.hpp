#pragma once

#include "base/clock.hpp"
#include "base/strand_task.hpp"
#include "colock_scripts.hpp"
#include "decide/answer.hpp"
#include "decide/connection_life.hpp"
#include "decide/copies.hpp"
#include "decide/linked_list.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// How a script draws fencing tokens (scripts/parts/draw.lua): from a counter that follows the
/// server's clock, or from Redisson's, which begins at 1.
inline constexpr std::string_view clock_tokens = "clock", redisson_tokens = "redisson";

/// Not a script but a plain command.
inline constexpr scripts::script ping_command{"PING", "", ""};

/// How many keys a script call may have. A long call makes other clients of the server wait, and
/// leaves this client idle while the server works.
inline constexpr std::size_t largest_call = 128;

/// Something that a step has given back, until the copies have that, too: the step is answered at
/// once, and they are still owed. The functions are called on the strand.
class owed_copies {
public:
    owed_copies(decide::copies const& w, time_point u) noexcept : wants{w}, until{u} {}

    /// They have it, or it does not matter any more.
    virtual void on_covered() = 0;

    /// The connection has ended before.
    virtual void on_copies_lost() = 0;

    decide::copies const wants;
    time_point const until;  ///< then it does not matter any more

protected:
    ~owed_copies() = default;
};

/// One lock's part of a script call, or, if `whole`, a call for many: each script takes any number
/// of locks, and a link joins the steps of one pass of the event loop into few calls. It lives in
/// the frame of the task that awaits `answered`, and so do the texts that it refers to.
struct step : decide::list_hook<> {
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
    std::string_view tokens{};  ///< how it draws them; empty without fencing
    bool whole = false;         ///< a call by itself, for many locks: its answer is the whole reply
    decide::copies wants{};     ///< that have to have it if it takes something …
    milliseconds copies_limit{0};         ///< … within this
    std::shared_ptr<owed_copies> owed{};  ///< it is answered without them, and they are owed
    bool repeats = false;                 ///< it may find its work done, and then it writes nothing
    bool alone = false;  ///< in a call of its own: the server has refused to run it in another
    bool was_unknown = false;  ///< the server did not know the script, once
    bool as_text = false;      ///< with EVAL: the server does not know the script
    bool asking = false;       ///< its slot is moving, and its key is already at the target node
    bool moved = false;        ///< a node has sent it to another one since it last paused
    time_point cut_off_at{};   ///< it was sent then, and the server has run a part of it
    decide::connection_life on{};  ///< where it was written last
    event<answer> answered{};
};

/// The channels to subscribe and unsubscribe in one step.
struct subscription_change {
    std::vector<std::string> subscribe;
    std::vector<std::string> unsubscribe;
    bool empty() const noexcept { return subscribe.empty() && unsubscribe.empty(); }
};

inline constexpr unsigned no_pubsub = static_cast<unsigned>(-1);

/// Which slots are meant.
using slot_filter = std::function<bool(unsigned slot)>;

/// The events of the transport. Called always on the strand, and never from within a call to the
/// transport.
class transport_listener {
public:
    virtual void on_link_up(std::size_t link, std::uint64_t epoch) = 0;
    virtual void on_link_down(std::size_t link, error_code why) = 0;

    /// The servers of these slots are reached again, perhaps other ones than before: holds may have
    /// to be confirmed, and messages may have been missed.
    virtual void on_reached(slot_filter const&) = 0;

    /// Channels may belong to other pub/sub links than before.
    virtual void on_rerouted() = 0;

    virtual void on_pubsub_up(unsigned pubsub, std::uint64_t epoch) = 0;
    virtual void on_pubsub_down(unsigned pubsub, error_code why) = 0;

    // The outcome of the last requested change: for each of its channels, and for all of it. `why`
    // is the server's text, not redacted.
    virtual void on_subscribed(unsigned pubsub, std::string_view channel) = 0;
    virtual void on_refused(unsigned pubsub, std::string_view channel, std::string_view why) = 0;
    virtual void on_changed(unsigned pubsub) = 0;

    /// The server has ended the subscription without a request.
    virtual void on_ended(unsigned pubsub, std::string_view channel) = 0;

    virtual void on_message(
        unsigned pubsub, std::string_view channel, std::string_view payload
    ) = 0;

protected:
    ~transport_listener() = default;
};

/// The connections to one deployment: the seam between decisions and input/output. All functions
/// are called on the strand.
class transport {
public:
    virtual ~transport() = default;

    /// Loads the files that connections need, before the first `start`. `run()` fails with its
    /// errors.
    virtual error_code prepare() { return {}; }

    virtual void start() = 0;

    /// Drops all connections. Steps not yet written fail with `error::closed`, written ones are
    /// lost.
    virtual void stop() = 0;

    /// Sends the step once, when its link is up, and sets `answered`, perhaps before it returns.
    /// Never repeats it, except for a script that the server does not know.
    virtual void submit(step&) = 0;

    /// True if the step was not written and never will be; `answered` is then not set.
    virtual bool withdraw(step&) noexcept = 0;

    /// The lane of a slot: a number that is the same for slots whose keys may share one call. Calls
    /// for many keys, such as renewals, are sent by lanes.
    virtual unsigned lane_of(unsigned slot) const noexcept = 0;

    /// Whether steps of this slot can be sent.
    virtual bool is_up(unsigned slot) const noexcept = 0;

    /// Opens the link of this slot if it is not open yet, as a step does.
    virtual void want_link(unsigned slot) = 0;

    /// Why steps of this slot have no answer: why their link is down, or what the server refuses
    /// for the moment; else none.
    virtual failure down_reason(unsigned slot) const noexcept = 0;

    /// Which pub/sub link carries this channel; `no_pubsub` while that is not known.
    virtual unsigned pubsub_of(std::string_view channel) const noexcept = 0;

    /// Asks for a change of the subscriptions, one at a time, only while the pub/sub link is up.
    virtual void change_subscriptions(unsigned pubsub, subscription_change const&) = 0;

    /// Whether scripts count all who subscribe to a channel, and not those of their node alone.
    virtual bool counts_receivers() const noexcept { return true; }

    /// Opens the pub/sub link if it is not open yet.
    virtual void want_pubsub(unsigned pubsub) = 0;

    virtual std::size_t links_up() const noexcept = 0;

    /// Destroys every task that waits for a step, because the client is destroyed.
    virtual void destroy_pending() noexcept = 0;
};

}  // namespace colock
